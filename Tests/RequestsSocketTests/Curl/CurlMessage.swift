import Requests
import TestCorpora

/// A request as text that can be compared with another client's request.
struct CurlMessage {
    private let method: String
    private let target: String
    private let version: String
    private let fields: [[String]]
    private let body: [UInt8]

    init(_ method: String, _ target: String, _ version: String, _ fields: [[String]], _ body: [UInt8]) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
        self.body = body
    }

    /// Returns the text with sorted fields, without the boundary and the fields that each client chooses.
    ///
    /// Each line begins with the name of a part: `line`, a field, or at the end `body`.
    func summary(for test: CurlCase) -> String {
        let given = test.client.operations.flatMap(\.options).map { $0.value.lowercased() }
        var own = ["user-agent", "accept", "accept-encoding", "expect"].filter { name in
            !given.contains { $0.hasPrefix(name + ":") }
        }
        let boundary = boundary
        // The length depends on the boundary.
        if boundary != nil { own.append("content-length") }
        var lines = fields.map { "\($0[0].lowercased()): \(Self.value(of: $0))" }.filter { line in
            !own.contains { line.hasPrefix($0 + ":") }
        }
        var text = String(decoding: body, as: UTF8.self)
        if let boundary {
            lines = lines.map { $0.replacing("boundary=" + boundary, with: "boundary=") }
            text = Self.form(text, boundary)
        }
        let start = "line: \(method) \(Self.normalized(target)) \(version)"
        return ([start] + lines.sorted() + ["body: " + text]).joined(separator: "\n")
    }

    /// Returns the names of the parts in which two summaries differ.
    static func differingParts(_ left: String, _ right: String) -> Set<String> {
        let (left, right) = (parts(of: left), parts(of: right))
        return Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }
    }

    private static func parts(of summary: String) -> [String: [String]] {
        var parts: [String: [String]] = [:]
        var remainder = Substring(summary)
        while !remainder.isEmpty {
            let (name, value) = String(remainder).cut(at: ":") ?? (String(remainder), "")
            let end = name == "body" ? value.endIndex : value.firstIndex(of: "\n") ?? value.endIndex
            parts[name, default: []].append(String(value[..<end]))
            remainder = value[end...].dropFirst()
        }
        return parts
    }

    /// Returns `target` with escapes in capitals, and with every byte escaped that a URI cannot contain (RFC 3986 §2).
    ///
    /// curl leaves some of these bytes in a Location as they are.
    private static func normalized(_ target: String) -> String {
        let allowed = PercentEncoding(allowing: "-._~:/?#[]@!$&'()*+,;=%")
        return allowed.encode(target).replacing(/%[0-9A-Fa-f]{2}/) { $0.output.uppercased() }
    }

    /// Returns the value of a field, with the cookies in alphabetical order.
    ///
    /// Servers must not depend on their order (RFC 6265 §4.2.2), and curl has rules of its own for it.
    private static func value(of field: [String]) -> String {
        guard field[0].lowercased() == "cookie" else { return field[1] }
        return field[1].split(separator: "; ").sorted().joined(separator: "; ")
    }

    private var boundary: String? {
        let type = fields.first { $0[0].lowercased() == "content-type" }?[1] ?? ""
        return type.lowercased().hasPrefix("multipart/") ? MediaType(type)?.parameters["boundary"] : nil
    }

    private static func form(_ text: String, _ boundary: String) -> String {
        text.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init).map { line in
            switch line {
            case "--" + boundary: "--"
            case "--" + boundary + "--": "----"
            // Spaces between the parameters of a type have no meaning.
            case let line where line.hasPrefix("Content-Type:"): line.replacing("; ", with: ";")
            default: line
            }
        }.joined(separator: "\r\n")
    }
}
