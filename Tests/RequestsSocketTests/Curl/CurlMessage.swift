import Requests
import TestCorpora

/// A request as text that can be compared with that of another client.
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
    func summary(for test: CurlCase) -> String {
        let given = test.client.operations.flatMap(\.options).map { $0.value.lowercased() }
        var own = ["user-agent", "accept", "accept-encoding", "expect"].filter { name in
            !given.contains { $0.hasPrefix(name + ":") }
        }
        let boundary = boundary
        // The length depends on the boundary.
        if boundary != nil { own.append("content-length") }
        let lines = fields.map { "\($0[0].lowercased()): \($0[1])" }.filter { line in
            !own.contains { line.hasPrefix($0 + ":") }
        }
        let text = String(decoding: body, as: UTF8.self)
        guard let boundary else {
            return ([method + " " + target + " " + version] + lines.sorted() + [text]).joined(separator: "\n")
        }
        let header = lines.sorted().map { $0.replacing("boundary=" + boundary, with: "boundary=") }
        return ([method + " " + target + " " + version] + header + [Self.form(text, boundary)]).joined(separator: "\n")
    }

    private var boundary: String? {
        let type = fields.first { $0[0].lowercased() == "content-type" }?[1] ?? ""
        return type.lowercased().hasPrefix("multipart/") ? MediaType(type)?.parameter("boundary") : nil
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
