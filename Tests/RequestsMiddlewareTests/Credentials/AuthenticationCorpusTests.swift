import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite("Cases of authentication", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct AuthenticationCorpusTests {
    struct Cases: Decodable {
        var digest: [DigestCase]
        var basic: [BasicCase]
        var bearer: [BearerCase]
    }

    struct DigestCase: Decodable, Sendable, CustomTestStringConvertible {
        struct Expectation: Decodable, Sendable {
            var response: String
            var usernameHash: String?
        }
        var id: String
        var algorithm: String
        var username: String
        var password: String
        var realm: String
        var method: String
        var uri: String
        var nonce: String
        var qop: String?
        var nc: String?
        var cnonce: String?
        var opaque: String?
        var bodyB64: Data?
        var userhash: Bool?
        var expect: Expectation
        var sourceHeader: String?

        var testDescription: String { "\(id) \(uri)" }
    }

    struct BasicCase: Decodable, Sendable {
        var user: String
        var password: String
        var header: String?
        var mustRefuse: Bool?
    }

    struct BearerCase: Decodable, Sendable {
        var token: String
        var header: String?
        var mustRefuse: Bool?
    }

    static let cases = Corpora.load("auth.json", as: Cases.self)

    @Test("Digest credentials equal the examples of the RFCs and curl", .rows("R-37"), arguments: cases?.digest ?? [])
    func digest(item: DigestCase) throws {
        var parameters: FieldParameters = ["realm": item.realm, "nonce": item.nonce]
        let header = item.sourceHeader
        // curl repeats the algorithm only if the challenge has one.
        if header?.contains("algorithm=") ?? true { parameters["algorithm"] = item.algorithm }
        parameters["qop"] = item.qop
        parameters["opaque"] = item.opaque
        let hashesUsername = item.userhash == true || header?.contains("userhash=true") == true
        if hashesUsername { parameters["userhash"] = "true" }
        let authenticator = DigestAuthenticator(
            username: item.username, password: item.password, allowing: .md5, hashes: SystemHashes.shared
        ) { item.cnonce ?? "unused" }
        // A nonce that was used before has been counted already, which a single value cannot show.
        #expect(item.nc == nil || item.nc == "00000001")
        let value = try #require(
            try authenticator.fieldValue(
                for: [AuthenticationChallenge(scheme: "Digest", parameters: parameters)],
                method: HTTPMethod(item.method), target: item.uri, body: item.bodyB64 ?? Data()))
        let sent = try #require(AuthenticationChallenge.challenges(in: value).first?.parameters)
        #expect(sent["response"] == item.expect.response)
        #expect(sent["nc"] == item.nc && sent["qop"] == item.qop && sent["opaque"] == item.opaque)
        if let hash = item.expect.usernameHash { #expect(sent["username"] == hash) }
        if let header { #expect(value == header) }
    }

    @Test("every case is read")
    func counts() throws {
        let cases = try #require(Self.cases)
        #expect(cases.digest.count >= 27 && cases.basic.count >= 13 && cases.bearer.count >= 12)
    }

    /// Returns the Authorization field of a request with `credentials`, or nil if it is refused before it is sent.
    private func sent(with credentials: FixedCredentials) async throws -> String? {
        let served = scripted([200])
        let environment = try #require(RequestEnvironment(string: "http://e.com"))
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        let error = await failure { () async throws(RequestError) in
            try await served.authenticating(with: credentials, within: environment).execute(request)
        }
        #expect((error == nil) == (served.recordedCount == 1) && error?.mayHaveReachedServer != true)
        return served.recordedRequests.first?.header[.authorization]
    }

    @Test("Basic credentials and bearer tokens are sent or refused as the RFCs require", .rows("PM-93", "R-37"))
    func fixed() async throws {
        for item in try #require(Self.cases).basic {
            let value = try await sent(with: .basicAuth(username: item.user, password: item.password))
            #expect(value == (item.mustRefuse == true ? nil : item.header))
        }
        for item in try #require(Self.cases).bearer {
            let value = try await sent(with: .bearerToken(item.token))
            // The cases have the alphabet of RFC 6750; servers issue more, which RFC 6749 allows (decision 0061).
            let isVisible = !item.token.isEmpty && item.token.utf8.allSatisfy { 0x21...0x7E ~= $0 }
            #expect(value == (isVisible ? "Bearer \(item.token)" : nil), "\(item.token)")
        }
    }
}
