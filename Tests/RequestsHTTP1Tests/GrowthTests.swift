import Requests
import RequestsHTTP1
import TestSupport
import Testing

/// Messages that are long in one respect.
///
/// Reading a message eight times as long takes about eight times as long, not 64 times.
@Suite("Growth")
struct GrowthTests {
    struct Shape: CustomStringConvertible, Sendable {
        let description: String
        /// Returns a message with the part that makes it long, of about the given number of bytes.
        let make: @Sendable (Int) -> String
    }

    private static func head(_ text: String, end: String = "\r\n\r\n") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + text + end
    }

    private static func chunked(_ text: String) -> String {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + text
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    static let responses = [
        Shape(description: "a reason") { "HTTP/1.1 200 " + many("a", $0) + "\r\nContent-Length: 0\r\n\r\n" },
        Shape(description: "a value") { head("A: " + many("b", $0)) },
        Shape(description: "a value that is not ASCII") { head("A: " + many("é", $0 / 2)) },
        Shape(description: "a name") { head(many("b", $0) + ": c") },
        Shape(description: "white space before a value") { head("A:" + many(" ", $0) + "b") },
        Shape(description: "white space after a value") { head("A: b" + many(" ", $0)) },
        Shape(description: "fields") { head(many("A: b\r\n", $0 / 4), end: "\r\n") },
        Shape(description: "Content-Lengths") { head(many("Content-Length: 0\r\n", $0 / 8), end: "\r\n") },
        Shape(description: "a list of lengths") { head("Content-Length: 0" + many(", 0", $0 / 4)) },
        Shape(description: "a list of options") { head("Connection: a" + many(", b", $0 / 4)) },
        Shape(description: "a list of parameters") { head("Keep-Alive: a=1" + many(", b=2", $0 / 4)) },
        Shape(description: "folds") { head("A: b" + many("\r\n c", $0 / 4)) },
        Shape(description: "folds of a long value") {
            head("A: " + many("b", $0 / 2) + many("\r\n c", $0 / 8))
        },
        Shape(description: "folded fields") { head(many("A: b\r\n c\r\n", $0 / 8), end: "\r\n") },
        Shape(description: "folded options") { head(many("Connection: a,\r\n b\r\n", $0 / 8), end: "\r\n") },
        Shape(description: "interim responses") {
            many("HTTP/1.1 100 Continue\r\nA: b\r\n\r\n", $0 / 16) + head("A: b")
        },
        Shape(description: "chunks") { chunked(many("1\r\na\r\n", $0 / 4) + "0\r\n\r\n") },
        Shape(description: "an extension") { chunked("1;" + many("a", $0) + "\r\nb\r\n0\r\n\r\n") },
        Shape(description: "zeros before a size") { chunked(many("0", $0) + "1\r\nb\r\n0\r\n\r\n") },
        Shape(description: "trailers") { chunked("0\r\n" + many("A: b\r\n", $0 / 4) + "\r\n") },
    ]

    static let requests = [
        Shape(description: "a target") { "GET /" + many("a", $0) + " HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "a method") { many("A", $0) + " / HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "fields") { "GET / HTTP/1.1\r\nHost: a\r\n" + many("A: b\r\n", $0 / 4) + "\r\n" },
        Shape(description: "escapes in a target") { "GET /" + many("%20", $0 / 3) + " HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "a host in a target") { "GET http://" + many("a", $0) + "/ HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "a scheme") { "GET " + many("a", $0) + "://b HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "an address") { "GET http://[" + many(":", $0) + "] HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "zeros before a port") { "CONNECT a:" + many("0", $0) + "1 HTTP/1.1\r\nHost: a\r\n\r\n" },
        Shape(description: "a Host") { "GET / HTTP/1.1\r\nHost: " + many("a", $0) + "\r\n\r\n" },
        Shape(description: "options") { put(many("Connection: a\r\n", $0 / 8), "") },
        Shape(description: "lengths") { put(many("Content-Length: 1\r\n", $0 / 8), "a") },
        Shape(description: "codings") { put("Transfer-Encoding: " + many(",", $0) + "chunked\r\n", "0\r\n\r\n") },
        Shape(description: "chunks") { put(inChunks, many("1\r\na\r\n", $0 / 4) + "0\r\n\r\n") },
        Shape(description: "an extension") { put(inChunks, "1;" + many("a", $0) + "\r\nb\r\n0\r\n\r\n") },
        Shape(description: "trailers") { put(inChunks, "0\r\n" + many("A: b\r\n", $0 / 4) + "\r\n") },
        Shape(description: "requests on one connection") { many("GET / HTTP/1.1\r\nHost: a\r\n\r\n", $0 / 16) },
    ]

    private static let inChunks = "Transfer-Encoding: chunked\r\n"

    private static func put(_ fields: String, _ body: String) -> String {
        "PUT / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\(body)"
    }

    @Test(
        "the time to read a response is proportional to its length, whole and byte by byte",
        .rows("R-13", "R-17", "R-71"),
        arguments: responses)
    func response(shape: Shape) async throws {
        for delivery in [Delivery.whole, .oneByteAtATime] {
            let ratio = try await Growth.ratio { size in
                let bytes = Array(shape.make(size).utf8)
                return { _ = try readResponse(bytes, limits: Self.endless, delivery) }
            }
            #expect(ratio <= Growth.limit, "\(delivery)")
        }
    }

    @Test(
        "the time to read a request is proportional to its length, whole and byte by byte", .rows("R-17", "R-71"),
        arguments: requests)
    func request(shape: Shape) async throws {
        for delivery in [Delivery.whole, .oneByteAtATime] {
            let ratio = try await Growth.ratio { size in
                let bytes = Array(shape.make(size).utf8)
                return { _ = try readRequests(bytes, limits: Self.endless, delivery) }
            }
            #expect(ratio <= Growth.limit, "\(delivery)")
        }
    }

    private static let endless: WireLimits = {
        var limits = WireLimits()
        limits.headBytes = 1 << 40
        limits.startLineBytes = 1 << 40
        limits.lineBytes = 1 << 40
        limits.fieldCount = 1 << 40
        limits.interimResponses = 1 << 40
        limits.chunkExtensionBytes = 1 << 40
        limits.trailerBytes = 1 << 40
        return limits
    }()
}
