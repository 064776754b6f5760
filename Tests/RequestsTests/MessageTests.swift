import Requests
import TestSupport
import Testing

private func malformedLiteral() -> URL { URL("http://[") }

/// Compares every message of an error with `Tests/Fixtures/messages.txt`.
///
/// `REQUESTS_RECORD=1` writes that file instead.
@Suite("Messages")
struct MessageTests {
    /// The line of `malformedLiteral()`, outside the test's macro, which has line numbers of its own.
    private static let lineOfLiteral = #line - 8

    private typealias Invalid = RequestError.InvalidRequest

    private static let invalid: [String: Invalid] = [
        "malformedURL": .malformedURL, "invalidHost": .invalidHost, "invalidPort": .invalidPort,
        "nonASCIIHost": .nonASCIIHost, "controlCharacterInPath": .controlCharacterInPath, "queryInPath": .queryInPath,
        "fragmentInPath": .fragmentInPath, "emptySegment": .emptySegment, "dotSegment": .dotSegment,
        "changedReference": .changedReference,
        "invalidMethod": .invalidMethod, "unsupportedMethod": .unsupportedMethod,
        "asteriskNotSupported": .asteriskNotSupported,
        "invalidFieldName": .invalidFieldName, "invalidFieldValue": .invalidFieldValue,
        "invalidBearerToken": .invalidBearerToken, "invalidCookie": .invalidCookie, "colonInUsername": .colonInUsername,
        "bodyNotAllowed": .bodyNotAllowed,
        "boundaryNotInContentType": .boundaryNotInContentType, "parametersNotEncoded": .parametersNotEncoded,
        "fieldNotAllowedInTrailers": .fieldNotAllowedInTrailers,
        "trailersWithoutBody": .trailersWithoutBody, "trailersNotSupported": .trailersNotSupported,
        "backgroundSessionNotSupported": .backgroundSessionNotSupported,
        "invalidProxy": .invalidProxy, "ipv6AddressNotSupported": .ipv6AddressNotSupported,
        "invalidTLSConfiguration": .invalidTLSConfiguration, "invalidSocketPath": .invalidSocketPath,
        "invalidLocalAddress": .invalidLocalAddress,
    ]

    private static let phases: [String: RequestError.Phase] = [
        "resolving": .resolving, "waitingForConnection": .waitingForConnection, "connecting": .connecting,
        "securing": .securing, "sending": .sending, "firstByte": .firstByte, "betweenBytes": .betweenBytes,
        "total": .total,
    ]

    private static let reasons: [String: RequestError.Reason] = [
        "invalidRequest": .invalidRequest(.malformedURL), "bodyEncodingFailed": .bodyEncodingFailed,
        "fileAccessFailed": .fileAccessFailed, "bodyNotReplayable": .bodyNotReplayable,
        "credentialsUnavailable": .credentialsUnavailable, "unsupportedScheme": .unsupportedScheme,
        "hostNotFound": .hostNotFound, "connectionFailed": .connectionFailed, "connectionLost": .connectionLost,
        "proxyRefused": .proxyRefused, "tlsUnavailable": .tlsUnavailable,
        "certificateRefused": .certificateRefused(.expired), "tlsFailed": .tlsFailed,
        "protocolViolation": .protocolViolation, "tooLarge": .tooLarge(limit: 10),
        "executorClosed": .executorClosed, "unacceptableStatus": .unacceptableStatus, "notModified": .notModified,
        "unexpectedRedirect": .unexpectedRedirect,
        "unexpectedContentType": .unexpectedContentType, "unexpectedNoContent": .unexpectedNoContent,
        "decodingFailed": .decodingFailed, "timedOut": .timedOut(.total), "cancelled": .cancelled, "other": .other,
    ]

    private static let certificateProblems: [String: RequestError.CertificateProblem] = [
        "expired": .expired, "notYetValid": .notYetValid, "unknownIssuer": .unknownIssuer, "selfSigned": .selfSigned,
        "nameMismatch": .nameMismatch, "weak": .weak, "notPinned": .notPinned, "refusedByCheck": .refusedByCheck,
        "other": .other,
    ]

    @Test("every reason, phase, invalid request and typical detail has the message of the golden file")
    func golden() async throws {
        var lines: [String] = []
        for (title, texts) in [
            ("Reason", Self.reasons.mapValues { "\($0)" }), ("Phase", Self.phases.mapValues { "\($0)" }),
            ("InvalidRequest", Self.invalid.mapValues { "\($0)" }),
            ("CertificateProblem", Self.certificateProblems.mapValues { "\($0)" }),
        ] {
            lines.append("# \(title)")
            lines += texts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        }
        lines.append("# Errors")
        for failure in Self.failures { lines.append("\(try #require(await failure()))") }
        let differences = try Golden("messages.txt").differences(from: lines)
        #expect(differences.isEmpty, "\(differences)")
    }

    @Test("the golden file has every case that the sources declare")
    func complete() throws {
        for (file, names) in [
            ("RequestError+InvalidRequest", Set(Self.invalid.keys)),
            ("RequestError+CertificateProblem", Set(Self.certificateProblems.keys)),
            ("RequestError+Reason", Set(Self.reasons.keys).union(Self.phases.keys)),
        ] {
            let source = Golden.repository.appending(path: "Sources/Requests/Exchange/\(file).swift")
            let text = String(decoding: try Data(contentsOf: source), as: UTF8.self)
            let declared = text.matches(of: /\n        case (\w+)/).map { String($0.1) }
            #expect(Set(declared) == names)
        }
    }

    @Test("errors of lines, events and values contain the request, the response and the number of requests")
    func streams() async throws {
        for failure in [
            Self.streamed(.lines(limit: 2), "abc"), Self.streamed(.events(limit: 2), "data: abc\n\n"),
            Self.streamed(.ndjson(Repo.self), "{}"),
        ] {
            let error = try #require(await failure())
            #expect(error.request?.target.path == "/api/stream" && error.status == 200 && error.attempts == 1)
        }
    }

    @Test("a malformed URL literal traps at the line of the call", .rows("RQ-33"))
    func literals() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = malformedLiteral()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("MessageTests.swift:\(Self.lineOfLiteral): Fatal error: malformed URL literal: http://["))
    }

    @Test("localizedDescription is the description")
    func localized() {
        let error = RequestError(.hostNotFound, detail: "e.com")
        #expect(error.localizedDescription == "could not resolve the host name: e.com")
    }

    @Test("the coding of a body is named only if it was not decoded, and schemes only if there are challenges")
    func notes() async throws {
        for coding in ["identity", " Identity , identity", ""] {
            let header: Header = [Field(name: .contentEncoding, value: coding)]
            let failure = Self.failing(
                Self.api.get(.json(Repo.self), from: "/r"), StubExecutor(200, header: header, "{"))
            let text = try #require(await failure()).description
            #expect(!text.contains("coding"), "\(text)")
        }
        let many = (0..<9).map { Field(name: .wwwAuthenticate, value: "S\($0)") }
        let offers = Self.failing(Self.api.request(to: "/r", using: .get), StubExecutor(401, header: Header(many)))
        #expect(try #require(await offers()).description.hasSuffix("WWW-Authenticate offers S0, S1, S2, S3, S4, …"))
        let none = Self.failing(Self.api.request(to: "/r", using: .get), StubExecutor(401))
        #expect(try #require(await none()).description.hasSuffix(": unacceptable status"))
    }
}

// MARK: Typical errors

private struct Repo: Decodable { let id: Int }
private struct Refused: Error, CustomStringConvertible { let description = "the token has expired" }

extension MessageTests {
    private typealias Failure = @Sendable () async -> RequestError?

    private static let failures: [Failure] = prepared + received

    private static let api = AnonymousRequestProvider("https://e.com/api")

    private static func failing<R: RequestConvertible>(_ request: R, _ executor: StubExecutor = StubExecutor())
        -> Failure
    where R: Sendable {
        {
            do throws(RequestError) {
                _ = try await executor.perform(request)
                return nil
            } catch {
                return error
            }
        }
    }

    /// The errors of requests that cannot be sent.
    private static var prepared: [Failure] {
        let token = Field(name: .authorization, value: "Bearer secret")
        return [
            failing(AnonymousRequestProvider(baseURL: URL(filePath: "/tmp/x")).request(to: "/a", using: .get)),
            failing(
                AnonymousRequestProvider("http://user:secret@e.com:99999/?token=secret").request(to: "/a", using: .get)),
            failing(AnonymousRequestProvider("http://e.com:0/?token=secret").request(to: "/a", using: .get)),
            failing(api.request(to: "/a?b=c", using: .get)),
            failing(api.request(to: "/users/\(String())", using: .get)), failing(api.request(to: "/a\n", using: .get)),
            failing(api.request(to: "/a", using: "PURGE IT")), failing(api.request(to: "/a", using: .connect)),
            failing(api.request(to: "*", using: .options)),
            failing(api.request(to: "/a", using: .get).setting(headerField: Field(name: "X Y", value: "1"))),
            failing(
                api.request(to: "/a", using: .get).setting(headerField: Field(name: "Bearer secret: x", value: "1"))),
            failing(
                api.request(to: "/a", using: .get).setting(headerField: token).setting(
                    headerField: Field(name: "X-A", value: "a\r\nb"))),
            failing(
                api.request(to: "/a", using: .get).authenticated(with: .basicAuth(username: "a:b", password: "secret"))),
            failing(api.request(to: "/a", using: .get).sending(.text("hello"))),
            failing(
                api.post(.text("x"), to: "/a").sending(trailers: [
                    Field(name: .host, value: "e.com")
                ])),
        ]
    }

    /// The errors of responses.
    private static var received: [Failure] {
        let gzip: Header = [.contentType(.json), Field(name: .contentEncoding, value: "gzip")]
        let challenges: Header = [
            Field(name: .wwwAuthenticate, value: "Bearer realm=\"api\", Basic realm=\"a, b\""),
            Field(name: .wwwAuthenticate, value: "Negotiate"),
        ]
        let condition = Field(name: .ifModifiedSince, value: "Sun, 06 Nov 1994 08:49:37 GMT")
        let html: Header = [Field(name: .contentType, value: "text/html; charset=utf-8")]
        return [
            failing(api.get(.json(Repo.self), from: "/r"), StubExecutor(200, #"{"id":"x"}"#)),
            failing(api.get(.json([Repo].self), from: "/r"), StubExecutor(200, #"[{"id":1},{}]"#)),
            failing(api.get(.json(Repo.self), from: "/r"), StubExecutor(200, "{")),
            failing(api.get(.json(JSONValue.self), from: "/r"), StubExecutor(200, "{]")),
            failing(api.get(.json(Repo.self), from: "/r"), StubExecutor(204)),
            failing(api.get(.json(Repo.self), from: "/r"), StubExecutor(200, header: gzip, "\u{1F}")),
            failing(api.get(.json(Repo.self), from: "/r"), StubExecutor(200, header: html, "<p>")),
            failing(api.get(.json(Repo.self), from: "/r"), StubExecutor(404, header: html, "<p>")),
            failing(api.request(to: "/r", using: .get), StubExecutor(401, header: challenges)),
            failing(
                api.request(to: "/r", using: .get),
                StubExecutor(409, header: [.contentType(.json)], #"{"error":{"code":"E1","message":"in use"}}"#)),
            failing(api.request(to: "/r", using: .get), StubExecutor(403)),
            failing(api.request(to: "/r", using: .get).setting(headerField: condition), StubExecutor(304)),
            failing(api.request(to: "/r", using: .get), StubExecutor(304)),
            failing(api.request(to: "/r", using: .get), StubExecutor(103)),
            failing(
                api.request(to: "/r", using: .get),
                StubExecutor { _ throws(RequestError) in
                    try RequestError.wrapping(.credentialsUnavailable) { throw Refused() }
                }),
            failing(
                api.request(to: "/r", using: .get),
                StubExecutor(302, header: [Field(name: .location, value: "ftp://e.com/")])),
            streamed(.lines(limit: 2), "abc"), streamed(.events(limit: 2), "data: abc\n\n"),
            streamed(.ndjson(Repo.self), "{\"id\":1}\n{\"id\":\"x\"}\n"),
        ]
    }

    /// Returns the error of the sequence that `decoder` makes of a streamed `body`.
    private static func streamed<S: AsyncSequence & Sendable>(_ decoder: ResponseDecoder<S>, _ body: String) -> Failure
    {
        {
            let executor = StubExecutor { request in
                RawResponse(
                    head: ResponseHead(status: 200, target: request.target),
                    body: .stream(ResponseStream(Data(body.utf8))))
            }
            do {
                for try await _ in try await executor.perform(api.get(decoder, from: "/stream")) {}
                return nil
            } catch {
                return error as? RequestError
            }
        }
    }
}
