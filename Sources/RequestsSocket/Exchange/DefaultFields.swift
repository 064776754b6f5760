import Requests
import RequestsHTTP1

/// The fields that the executor adds to requests without fields of these names.
enum DefaultFields {
    /// Accept-Encoding, because bodies are delivered as they are received.
    static let fields = [Field(name: .acceptEncoding, value: "identity")]

    /// The same fields, as HTTP/1.1 sends them.
    static let additions = fields.map { RequestHeadWriter.Addition($0) }
}
