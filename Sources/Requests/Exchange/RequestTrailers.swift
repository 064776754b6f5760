/// Fields that are sent after a request's body: what is known only once the body has been made, such as its digest
/// (RFC 9110 §6.5).
///
/// A request with trailers is sent in chunks, whatever its body is, and a Trailer field announces their names. Fields
/// that frame, route or authenticate a message, control its handling or describe its content are not allowed
/// (RFC 9110 §6.5.1). A server may ignore trailers, and an old one may refuse them: send them where they are asked for.
public struct RequestTrailers: Sendable {
    private enum Source: Sendable {
        case header(Header)
        case function(@Sendable () throws -> Header)
    }

    /// The names announced before the body.
    public let names: [Field.Name]

    private let source: Source

    /// Trailers that are known beforehand.
    public init(_ header: Header) {
        names = header.map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        source = .header(header)
    }

    /// Trailers that `make` gives once the last byte of the body has been made.
    ///
    /// It is called once for each sending. A field whose name is not among `names`, or what it throws, ends the exchange
    /// with ``RequestError/Reason/bodyNotEncoded``, the connection closed.
    public init(_ names: [Field.Name], _ make: @escaping @Sendable () throws -> Header) {
        self.names = names
        source = .function(make)
    }

    /// The fields of one sending, checked.
    package func header() throws(RequestError) -> Header {
        switch source {
        case .header(let header): return header
        case .function(let make):
            let header = try RequestError.wrapping(.bodyNotEncoded, make)
            if let problem = Self.problem(in: header) {
                throw RequestError(.bodyNotEncoded, detail: "a trailer: \(problem)", underlying: problem)
            }
            guard let stranger = header.first(where: { !names.contains($0.name) }) else { return header }
            throw RequestError(.bodyNotEncoded, detail: "the trailer \(stranger.name) was not announced")
        }
    }

    /// What is wrong with the trailers as far as it can be known before they are made.
    var problem: InvalidRequest? {
        switch source {
        case .header(let header): Self.problem(in: header)
        case .function: Self.problem(in: Header(names.map { Field(name: $0, value: "") }))
        }
    }

    private static func problem(in header: Header) -> InvalidRequest? {
        for field in header {
            guard field.name.isValid else { return .invalidFieldName }
            guard !field.value.utf8.contains(where: Token.isForbiddenInValue) else { return .invalidFieldValue }
            guard field.name.isAllowedInTrailers else { return .fieldNotAllowedInTrailers }
        }
        return nil
    }

    /// Returns the trailers without those whose names satisfy `condition`; nil when none are left.
    func removing(_ condition: (Field.Name) -> Bool) -> RequestTrailers? {
        let kept = names.filter { !condition($0) }
        guard kept.count < names.count else { return self }
        guard !kept.isEmpty else { return nil }
        switch source {
        case .header(let header): return RequestTrailers(Header(header.filter { kept.contains($0.name) }))
        case .function(let make):
            // A name that was never announced stays, so that it is still refused.
            let removed = Set(names).subtracting(kept)
            return RequestTrailers(kept) { Header(try make().filter { !removed.contains($0.name) }) }
        }
    }

    /// Whether both send the same fields; those that are made are never equal.
    func isEqual(to other: RequestTrailers) -> Bool {
        guard case .header(let own) = source, case .header(let others) = other.source else { return false }
        return own == others
    }
}

extension RequestTrailers: CustomReflectable {
    /// What `dump` sees: the names; values may be secrets.
    public var customMirror: Mirror { Mirror(self, children: ["names": names]) }
}

extension Field.Name {
    /// Whether the field may come after the body: it does not frame or route the message, authenticate, control its
    /// handling or describe its content (RFC 9110 §6.5.1).
    package var isAllowedInTrailers: Bool { !Self.neverTrailers.contains(self) }

    private static let neverTrailers: Set<Field.Name> = [
        .transferEncoding, .contentLength, .connection, .host, .te, .trailer, .upgrade, .keepAlive, .proxyConnection,
        .expect, .range, .cacheControl, "Max-Forwards", "Pragma", .ifMatch, .ifNoneMatch, .ifModifiedSince,
        .ifUnmodifiedSince, .ifRange, .authorization, .proxyAuthorization, .proxyAuthenticate, .wwwAuthenticate,
        .cookie, .setCookie, .age, .date, .expires, .location, .retryAfter, .vary, .contentEncoding, .contentType,
        .contentRange,
    ]
}
