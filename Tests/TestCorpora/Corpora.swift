package import Requests
import Testing

/// The test cases of other projects, read from `../shared/corpora` or `$REQUESTS_CORPORA`.
///
/// They are not part of the repository.
package enum Corpora {
    package static let responses = load("http1-responses.json", as: ResponseCases.self)?.cases ?? []
    package static let requests = load("http1-requests.json", as: RequestCases.self)?.cases ?? []

    /// Whether the folder of the cases exists; its files must then be readable.
    package static let arePresent = FileManager.default.fileExists(atPath: folder)

    private static let folder: String = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return ProcessInfo.processInfo.environment["REQUESTS_CORPORA"] ?? "/\(root)/../shared/corpora"
    }()

    /// Returns the rows of the table in the file `name`, each as its cells, or nil if the folder does not exist.
    package static func table(_ name: String) -> [[String]]? {
        guard arePresent else { return nil }
        do {
            let text = try String(contentsOf: URL(filePath: folder).appending(path: name), encoding: .utf8)
            return text.split(separator: "\n").map { line in
                line.dropFirst(2).dropLast(2).split(separator: " | ").map(String.init)
            }
        } catch {
            Issue.record("could not read \(name): \(error)")
            return nil
        }
    }

    /// Returns the content of the file `name`, or nil if the folder does not exist.
    ///
    /// A file that cannot be read or decoded is an issue of the test that uses it.
    package static func load<Content: Decodable>(_ name: String, as type: Content.Type) -> Content? {
        guard arePresent else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(Content.self, from: Data(contentsOf: URL(filePath: folder).appending(path: name)))
        } catch {
            Issue.record("could not read \(name): \(error)")
            return nil
        }
    }
}

package enum Verdict: String, Decodable, Sendable {
    case accept, reject, either, incomplete
}

private struct ResponseCases: Decodable {
    var cases: [ResponseCase]
}

/// A byte stream and the way a user agent must read it.
package struct ResponseCase: Decodable, Sendable, CustomStringConvertible {
    package struct Message: Decodable, Sendable {
        package struct Interim: Decodable, Sendable {
            package var status: Int
            package var headers: [[String]]
        }
        package var httpVersion: String
        package var status: Int
        package var reason: String
        package var headers: [[String]]
        package var bodyB64: Data
        package var framing: String
        package var trailers: [[String]]
        package var informational: [Interim]
        package var unreadBytesAfterMessage: Int
    }
    package struct Expectation: Decodable, Sendable {
        package var verdict: Verdict
        package var ifAccepted: Message?
        package var connectionReusable: Bool?
        package var preferred: Verdict?
    }
    package var id: String
    package var name: String
    package var requestMethod: String
    package var responseB64: Data
    package var serverThen: String
    package var expect: Expectation

    package var bytes: [UInt8] { Array(responseB64) }
    package var method: HTTPMethod { HTTPMethod(requestMethod) }
    package var description: String { "\(id) \(name)" }
}

private struct RequestCases: Decodable {
    var cases: [RequestCase]
}

/// A byte stream and the way a server should read it.
package struct RequestCase: Decodable, Sendable, CustomStringConvertible {
    package struct Message: Decodable, Sendable {
        package var method: String
        package var target: String
        package var version: String
        package var headers: [[String]]
        package var trailers: [[String]]
        package var bodyB64: Data
    }
    package var id: String
    package var name: String
    package var requestB64: Data
    package var verdict: Verdict
    package var h11Reading: [Message]?

    package var bytes: [UInt8] { Array(requestB64) }
    package var description: String { "\(id) \(name)" }

    /// Whether the target is `*` and the method is not OPTIONS, as in M-SEARCH of SSDP.
    ///
    /// The collection accepts it; RFC 9112 §3.2.4 does not allow it.
    package var isAsteriskForAnotherMethod: Bool { id == "llhttp-req-023" }
}

/// Returns the bytes of a field as the collections write it: name, colon and value in ISO-8859-1.
package func lineBytes(_ field: [String]) -> [UInt8] {
    latin1(field[0] + ":" + field[1])
}

/// Returns the ISO-8859-1 bytes of `text`.
package func latin1(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

/// Returns the fields of a header as bytes: name, colon and value.
package func lines(of header: Header) -> [[UInt8]] {
    header.map { Array($0.name.rawValue.utf8) + [UInt8(ascii: ":")] + $0.valueBytes }
}
