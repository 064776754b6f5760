extension PreparedRequest {
    /// The trailer fields of a request, which are sent after its body (RFC 9110 §6.5).
    ///
    /// Use trailers for values that are known only when the body has been produced, such as its digest. A request with
    /// trailers is sent chunked, whatever its body is, and a Trailer field announces their names. Fields that frame,
    /// route or authenticate a message, control its settings or describe its content are not allowed (RFC 9110 §6.5.1).
    /// A server may ignore trailers, and an old server may refuse the request: send trailers only to servers that
    /// support them.
    public struct Trailers: Sendable {
        private enum Source: Sendable {
            case header(Header)
            case function(@Sendable () throws -> Header)
        }

        /// The names that the request announces before the body.
        public let names: [Field.Name]

        private let source: Source

        /// Creates trailers with the fields of `header`, which are known before the body is sent.
        public init(_ header: Header) {
            names = header.map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            source = .header(header)
        }

        /// Creates trailers with the fields that `make` returns when the last byte of the body has been produced.
        ///
        /// `make` is called once for each transmission. If it throws, or returns a field whose name is not in `names`,
        /// the exchange fails with ``RequestError/Reason/bodyEncodingFailed``, and the connection is closed.
        public init(_ names: [Field.Name], _ make: @escaping @Sendable () throws -> Header) {
            self.names = names
            source = .function(make)
        }

        /// Returns the validated fields for one transmission.
        ///
        /// - Throws: ``RequestError`` with ``RequestError/Reason/bodyEncodingFailed``.
        package func header() throws(RequestError) -> Header {
            switch source {
            case .header(let header): return header
            case .function(let make):
                let header = try RequestError.wrapping(.bodyEncodingFailed, make)
                if let (problem, name) = Self.problem(in: header) {
                    let detail = "trailer field \(ErrorText.quoted(name)): \(problem)"
                    throw RequestError(.bodyEncodingFailed, detail: detail, underlying: problem)
                }
                guard let stranger = header.first(where: { !names.contains($0.name) }) else { return header }
                let detail = "trailer field \(ErrorText.quoted(stranger.name)) is not among the declared names"
                throw RequestError(.bodyEncodingFailed, detail: detail)
            }
        }

        /// The first problem that is known before the values are produced, with the name of its field; nil if there is
        /// none.
        var problem: (RequestError.InvalidRequest, Field.Name)? {
            switch source {
            case .header(let header): Self.problem(in: header)
            case .function: Self.problem(in: Header(names.map { Field(name: $0, value: "") }))
            }
        }

        private static func problem(in header: Header) -> (RequestError.InvalidRequest, Field.Name)? {
            for field in header {
                guard field.name.isValid else { return (.invalidFieldName, field.name) }
                guard !field.value.utf8.contains(where: Token.isForbiddenInValue) else {
                    return (.invalidFieldValue, field.name)
                }
                guard field.name.isAllowedInTrailers else { return (.fieldNotAllowedInTrailers, field.name) }
            }
            return nil
        }

        /// Returns the trailers whose names do not satisfy `condition`; nil if none remain.
        func removing(_ condition: (Field.Name) -> Bool) -> PreparedRequest.Trailers? {
            let kept = names.filter { !condition($0) }
            guard kept.count < names.count else { return self }
            guard !kept.isEmpty else { return nil }
            switch source {
            case .header(let header): return PreparedRequest.Trailers(Header(header.filter { kept.contains($0.name) }))
            case .function(let make):
                // A name that was not declared is kept, so that ``header()`` still refuses it.
                let removed = Set(names).subtracting(kept)
                return PreparedRequest.Trailers(kept) { Header(try make().filter { !removed.contains($0.name) }) }
            }
        }

        /// Returns whether both have the same fields; trailers with a function are never equal.
        func isEqual(to other: PreparedRequest.Trailers) -> Bool {
            guard case .header(let own) = source, case .header(let others) = other.source else { return false }
            return own == others
        }
    }
}

extension PreparedRequest.Trailers: CustomReflectable {
    /// The mirror that `dump` prints: the names only, because values may be secrets.
    public var customMirror: Mirror { Mirror(self, children: ["names": names]) }
}

extension Field.Name {
    /// Whether the field may be sent after the body: it does not frame or route the message, authenticate, control its
    /// settings or describe its content (RFC 9110 §6.5.1).
    package var isAllowedInTrailers: Bool { !Self.neverTrailers.contains(self) }

    private static let neverTrailers: Set<Field.Name> = [
        .transferEncoding, .contentLength, .connection, .host, .te, .trailer, .upgrade, .keepAlive, .proxyConnection,
        .expect, .range, .cacheControl, "Max-Forwards", "Pragma", .ifMatch, .ifNoneMatch, .ifModifiedSince,
        .ifUnmodifiedSince, .ifRange, .authorization, .proxyAuthorization, .proxyAuthenticate, .wwwAuthenticate,
        .cookie, .setCookie, .age, .date, .expires, .location, .retryAfter, .vary, .contentEncoding, .contentType,
        .contentRange,
    ]
}
