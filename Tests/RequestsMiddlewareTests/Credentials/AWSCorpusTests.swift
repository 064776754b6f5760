import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import Testing

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite("Cases of Signature Version 4", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct AWSCorpusTests {
    struct File: Decodable {
        struct Meta: Decodable {
            var accessKey: String
            var secretKey: String
            var now: String
        }
        var meta: Meta
        var cases: [Case]
    }

    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        var id: String
        var kind: String
        var method: String
        var url: String
        var headers: [[String]]
        var bodyB64: Data
        var service: String
        var region: String
        var sessionToken: String?
        var canonicalRequest: String
        var signedHeaders: [[String]]?
        var expiresS: Int?
        var signedUrl: String?

        var testDescription: String { id }

        /// The URL without repeated query items, of which the reference drops all but the first when it presigns.
        ///
        /// Ours keeps all of them, because a presigned URL should perform the same request.
        var presignedURL: String {
            let parts = url.split(separator: "?", maxSplits: 1)
            guard parts.count == 2 else { return url }
            var names: Set<Substring> = []
            let items = parts[1].split(separator: "&").filter { names.insert($0.prefix { $0 != "=" }).inserted }
            return "\(parts[0])?\(items.joined(separator: "&"))"
        }
    }

    static let file = Corpora.load("sigv4.json", as: File.self)

    private func signature(for item: Case) throws -> AWSSignature {
        let meta = try #require(Self.file?.meta)
        let date = try Date(meta.now, strategy: .iso8601)
        var signature = AWSSignature(
            credentials: .init(
                accessKeyID: meta.accessKey, secretAccessKey: meta.secretKey, sessionToken: item.sessionToken),
            region: item.region, service: item.service)
        signature.now = { date }
        return signature
    }

    private func request(_ item: Case, url: String) throws -> PreparedRequest {
        let header = Header(item.headers.map { Field(name: Field.Name($0[0]), value: $0[1]) })
        return try PreparedRequest(
            method: HTTPMethod(item.method), target: TargetURI(url), header: header,
            body: item.bodyB64.isEmpty ? .none : .bytes(item.bodyB64))
    }

    @Test(
        "a signed request has the same fields as from the reference implementation",
        arguments: file?.cases.filter { $0.signedUrl == nil } ?? [])
    func headers(item: Case) async throws {
        let served = scripted([200])
        let request = try request(item, url: item.url)
        let environment = try #require(RequestEnvironment(string: request.target.origin))
        _ = try await served.signing(with: .aws(signature(for: item)), within: environment).execute(request)
        let sent = try #require(served.recordedRequests.first)
        guard request.target.absoluteString.hasSuffix(item.url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" })
        else {
            // A target has no dot segments (RFC 3986 §6.2.2.3): the path that is sent is the one that is signed.
            let text = try signature(for: item).canonicalRequest(of: sent, bodyDigest: item.bodyB64).text
            #expect(item.url.contains("/.") && text.hasPrefix("\(item.method)\n\(sent.target.path)\n"))
            return
        }
        guard sent.target.path.utf8.elementsEqual(request.target.path.utf8) else {
            // The reference signs any path as it is; ours sends the path that servers compute (decision 0060).
            let text = try signature(for: item).canonicalRequest(of: sent, bodyDigest: item.bodyB64).text
            #expect(item.service == "s3" && item.url.contains { ":*".contains($0) })
            #expect(text.hasPrefix("\(item.method)\n\(sent.target.path)\n") && !sent.target.path.contains(":"))
            return
        }
        let expected = try #require(item.signedHeaders)
        #expect(!expected.isEmpty)
        for field in expected { #expect(sent.header[Field.Name(field[0])] == field[1]) }
        #expect(sent.header.count == item.headers.count + expected.count)
    }

    @Test(
        "presigned URLs equal the reference implementation's",
        arguments: file?.cases.filter { $0.signedUrl != nil } ?? [])
    func presigned(item: Case) throws {
        let request = try request(item, url: item.presignedURL)
        let url = try signature(for: item).presignedURL(for: request, expiresIn: .seconds(item.expiresS ?? 0))
        #expect(url.absoluteString == item.signedUrl)
    }

    @Test("every case is read")
    func counts() throws {
        let cases = try #require(Self.file).cases
        #expect(cases.count >= 47 && cases.allSatisfy { ($0.signedUrl == nil) != ($0.signedHeaders == nil) })
    }
}
