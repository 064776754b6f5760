import Requests
import RequestsHTTP1

/// The fields that the executor adds to requests without fields of these names.
enum DefaultFields {
    /// Accept-Encoding, because bodies are delivered as they are received.
    static let additions = [RequestHeadWriter.Addition(Field(name: .acceptEncoding, value: "identity"))]
}
