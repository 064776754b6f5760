import Requests
import TestCorpora

/// A way in which the result of a case differs from curl's.
enum CurlDeviation: Hashable, Sendable {
    /// The call fails with this reason, where curl succeeds or has an error of another kind.
    case error(RequestError.Reason)
    /// The call succeeds, where curl has an error.
    case noError
    case status
    case body
    /// The number of requests.
    case requestCount
    /// A part of a request: `line`, `body` or the name of a field.
    case part(String)
}

/// The reason why the result of a case differs from curl's, and all differences.
struct CurlDifference: Sendable {
    var reason: String
    var deviations: Set<CurlDeviation>

    init(_ reason: String, _ deviations: CurlDeviation...) {
        self.reason = reason
        self.deviations = Set(deviations)
    }
}

extension CurlCase {
    /// Returns whether an error with `reason` is of the kind that the case expects.
    func expects(_ reason: RequestError.Reason) -> Bool {
        switch (expect.errorKind, reason) {
        case ("http-status-error", .unacceptableStatus), ("range", .unacceptableStatus),
            ("too-many-redirects", .unexpectedRedirect), ("bad-url", .unexpectedRedirect),
            ("empty-response", .connectionLost), ("truncated-body", .connectionLost),
            ("receive/bad-response", .protocolViolation), ("bad-response-head", .protocolViolation),
            ("too-large", .tooLarge):
            true
        // curl's code for a response with an unknown version or without a status line.
        case ("unsupported-scheme", .protocolViolation): true
        // curl has one code for content codings and transfer codings.
        case ("bad-content-coding", .protocolViolation): true
        default: false
        }
    }

    /// The replies of the server.
    var replies: [CurlReply] { server.exchanges.map { CurlReply(Array($0.replyB64), isLast: $0.closeAfter) } }

    /// Returns the values of the options `name`, in lower case.
    func values(ofOption name: String) -> [String] {
        client.operations.flatMap(\.options).filter { $0.name == name }.map { $0.value.lowercased() }
    }
}

/// A reply of a server, read no further than the rules of ``CurlCoverage`` need.
struct CurlReply {
    let statusLine: String
    private let fields: [(name: String, value: String)]
    private let body: ArraySlice<UInt8>
    /// Whether the connection is closed after the reply.
    private let isLast: Bool

    init(_ bytes: [UInt8], isLast: Bool) {
        self.isLast = isLast
        let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) ?? bytes.firstRange(of: Array("\n\n".utf8))
        body = bytes[(end?.upperBound ?? bytes.endIndex)...]
        let lines = String(decoding: bytes[..<(end?.lowerBound ?? bytes.endIndex)], as: UTF8.self)
            .split(whereSeparator: \.isNewline)
        statusLine = lines.first.map(String.init) ?? ""
        fields = lines.dropFirst().compactMap { line in
            String(line).cut(at: ":").map { ($0.0.lowercased(), $0.1.trimmed) }
        }
    }

    /// Returns the elements of all fields `name`, in lower case.
    func values(of name: String) -> [String] {
        fields.filter { $0.name == name }.flatMap { $0.value.lowercased().split(separator: ",") }
            .map { $0.trimmed }
    }

    /// The value of Location.
    var location: String? { fields.first { $0.name == "location" }?.value }

    /// Whether Location is a URL of http with an empty host.
    var hasHostlessLocation: Bool { location?.hasPrefix("http:///") == true }

    /// Whether the body ends neither at a declared length nor with the connection.
    var isEndless: Bool {
        !isLast && values(of: "content-length").isEmpty && values(of: "transfer-encoding").isEmpty
    }

    /// Whether a line between chunks ends in LF alone.
    var hasBareLineFeed: Bool {
        guard values(of: "transfer-encoding") == ["chunked"] else { return false }
        var remainder = body
        while let end = remainder.firstIndex(of: 0x0A) {
            guard end > remainder.startIndex, remainder[end - 1] == 0x0D else { return true }
            let digits = remainder[..<end].prefix { Character(UnicodeScalar($0)).isHexDigit }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size > 0 else { return false }
            remainder = remainder[(end + 1)...].dropFirst(size)
            if remainder.first == 0x0A { return true }
            remainder = remainder.dropFirst(2)
        }
        return false
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at both ends.
    var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
