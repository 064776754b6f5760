import Requests
import Testing

/// The case collections of other projects, read from `../shared/corpora` or `$REQUESTS_CORPORA`; absent from the
/// repository.
enum Corpora {
    static let responses = load("http1-responses.json", as: ResponseCases.self)?.cases ?? []
    static let requests = load("http1-requests.json", as: RequestCases.self)?.cases ?? []

    /// Whether the folder is there; what is in it must then be readable.
    static let arePresent = FileManager.default.fileExists(atPath: folder)

    private static let folder: String = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return ProcessInfo.processInfo.environment["REQUESTS_CORPORA"] ?? "/\(root)/../shared/corpora"
    }()

    private static func load<Content: Decodable>(_ name: String, as type: Content.Type) -> Content? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let data = try? Data(contentsOf: URL(filePath: folder).appending(path: name)) else { return nil }
        return try? decoder.decode(Content.self, from: data)
    }
}

enum Verdict: String, Decodable {
    case accept, reject, either, incomplete
}

struct ResponseCases: Decodable {
    var cases: [ResponseCase]
}

/// One stream of bytes and how a user agent must read it.
struct ResponseCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Message: Decodable {
        struct Interim: Decodable {
            var status: Int
            var headers: [[String]]
        }
        var httpVersion: String
        var status: Int
        var reason: String
        var headers: [[String]]
        var bodyB64: Data
        var framing: String
        var trailers: [[String]]
        var informational: [Interim]
        var unreadBytesAfterMessage: Int
    }
    struct Expectation: Decodable {
        var verdict: Verdict
        var ifAccepted: Message?
        var connectionReusable: Bool?
        var preferred: Verdict?
    }
    var id: String
    var name: String
    var requestMethod: String
    var responseB64: Data
    var expect: Expectation

    var bytes: [UInt8] { Array(responseB64) }
    var method: HTTPMethod { HTTPMethod(requestMethod) }
    var testDescription: String { "\(id) \(name)" }
}

struct RequestCases: Decodable {
    var cases: [RequestCase]
}

/// One stream of bytes and how a server should read it.
struct RequestCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Message: Decodable {
        var method: String
        var target: String
        var version: String
        var headers: [[String]]
        var trailers: [[String]]
        var bodyB64: Data
    }
    var id: String
    var name: String
    var requestB64: Data
    var verdict: Verdict
    var h11Reading: [Message]?

    var bytes: [UInt8] { Array(requestB64) }
    var testDescription: String { "\(id) \(name)" }
}
