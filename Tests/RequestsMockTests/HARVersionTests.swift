import Foundation
import RequestsMock
import TestSupport
import Testing

@Suite("Recordings: versions of HTTP")
struct HARVersionTests {
    private struct Versioned: RequestExecutor {
        let version: RawResponse.Metrics.HTTPVersion?

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            var response = RawResponse(head: ResponseHead(status: 200, target: request.target), body: .bytes(Data()))
            response.metrics.httpVersion = version
            return response
        }
    }

    @Test(
        "a recording names the version of HTTP of a response", .rows("H-54"),
        arguments: [(.http11, "HTTP/1.1"), (.http2, "HTTP/2"), (nil, "unknown")]
            as [(RawResponse.Metrics.HTTPVersion?, String)])
    func versions(version: RawResponse.Metrics.HTTPVersion?, name: String) async throws {
        let recorder = HARRecorder()
        let request = PreparedRequest(method: .get, target: try TargetURI("http://a.test/"))
        _ = try await Versioned(version: version).intercepted(by: recorder).execute(request)
        let archive = recorder.archive
        #expect(archive.entries.map(\.httpVersion) == [version?.rawValue])
        let json = String(decoding: archive.json, as: UTF8.self)
        // One for the request and one for the response.
        #expect(json.components(separatedBy: "\"httpVersion\" : \"\(name)\"").count == 3, "\(json)")
        #expect(try HARArchive(parsing: archive.json).entries.map(\.httpVersion) == [version?.rawValue])
    }
}
