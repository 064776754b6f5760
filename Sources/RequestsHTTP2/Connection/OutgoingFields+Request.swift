package import Requests

extension OutgoingFields {
    /// Creates the fields of a valid request (RFC 9113 §8.3.1).
    ///
    /// Fields that are specific to HTTP/1.1 connections are left out, Host becomes `:authority`, Cookie fields are
    /// joined, and `TE` is sent only as `trailers`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - length: The length of the body in bytes; nil if it is unknown.
    ///   - additions: Fields of the executor; each is left out if the request has a field of that name.
    ///   - isSecret: A function that returns whether no table may store the values of a field. It is called only for
    ///     cookies and for names that are not in the static table.
    package init(
        _ request: PreparedRequest, length: Int?, adding additions: [Field] = [],
        isSecret: (Field.Name) -> Bool = { _ in false }
    ) {
        self.init()
        append(.method, request.method.rawValue)
        append(.scheme, request.target.scheme)
        append(.authority, request.target.authority)
        append(.path, request.target.requestTarget)
        let fields = request.header.list.joiningCookies
        for field in fields where field.name.isSent(in: .origin) {
            append(trimming: field, isSecret: isSecret)
        }
        for field in additions where !fields.contains(where: { $0.name == field.name }) {
            append(trimming: field, isSecret: isSecret)
        }
        if fields.contains(where: { $0.name == .te && ASCIIFolding.areEqual($0.value, "trailers") }) {
            append("te", "trailers")
        }
        let framing = request.framing(ofLength: length)
        if case .length(let count) = framing { append("content-length", String(count)) }
        if framing != .none, framing != .length(0), request.continueTimeout != nil { append("expect", "100-continue") }
        if let names = request.trailers?.names, !names.isEmpty {
            append("trailer", names.map(\.rawValue).joined(separator: ", "))
        }
    }

    /// Creates the fields of a response, interim or final.
    ///
    /// Fields that are specific to HTTP/1.1 connections are left out.
    package init(status: HTTPStatus, _ header: Header) {
        self.init()
        append(.status, String(status.code))
        for field in header.list where !field.name.isConnectionSpecific { append(trimming: field) }
    }

    /// Creates the fields of trailers.
    ///
    /// - Parameters:
    ///   - trailers: The trailers; fields that are specific to HTTP/1.1 connections are left out.
    ///   - isSecret: A function that returns whether no table may store the values of a field. It is called only for
    ///     cookies and for names that are not in the static table.
    package init(trailers: Header, isSecret: (Field.Name) -> Bool = { _ in false }) {
        self.init()
        for field in trailers.list where !field.name.isConnectionSpecific {
            append(trimming: field, isSecret: isSecret)
        }
    }
}

extension Field.Name {
    /// Whether the field is malformed in HTTP/2 (RFC 9113 §8.2.2).
    fileprivate var isConnectionSpecific: Bool {
        switch self {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .te: true
        default: false
        }
    }
}
