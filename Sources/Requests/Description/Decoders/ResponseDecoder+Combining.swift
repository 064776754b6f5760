extension ResponseDecoder {
    /// This decoder, its value changed by `transform`; what that throws is ``RequestError/Reason/notDecoded``.
    ///
    /// Accepted types and delivery stay as they are.
    public func map<New>(
        _ transform: @escaping @Sendable (Response) async throws -> New
    ) -> ResponseDecoder<New> {
        ResponseDecoder<New>(accepting: accepting, delivery: delivery) { response in
            try await transform(value(from: response))
        }
    }

    /// This decoder, its value made of status and header as well.
    public func map<New>(
        withHead transform: @escaping @Sendable (Response, ResponseHead) async throws -> New
    ) -> ResponseDecoder<New> {
        ResponseDecoder<New>(accepting: accepting, delivery: delivery) { response in
            try await transform(value(from: response), response.head)
        }
    }

    /// This decoder, with status and header next to its value.
    public var withHead: ResponseDecoder<(value: Response, head: ResponseHead)> {
        map(withHead: { (value: $0, head: $1) })
    }

    /// This decoder, asking for and accepting `types` in the place of its own; empty accepts any.
    public func accepting(_ types: [MediaType]) -> ResponseDecoder {
        ResponseDecoder(accepting: types, delivery: delivery) { try await value(from: $0) }
    }

    /// What `decoder` makes of the body; nil when there is none.
    ///
    /// None is a status that forbids one (204, 205, 304), an empty body, and one of nothing but white space.
    public static func optional<Wrapped>(_ decoder: ResponseDecoder<Wrapped>) -> ResponseDecoder
    where Response == Wrapped? {
        ResponseDecoder(accepting: decoder.accepting, delivery: decoder.delivery) { response in
            guard let body = response.withBody() else { return nil }
            return try await decoder.value(from: body)
        }
    }

    /// What `decoder` makes of the answer to an action, which may be that there is nothing to say.
    public static func action<Value>(_ decoder: ResponseDecoder<Value>) -> ResponseDecoder
    where Response == ActionResult<Value> {
        ResponseDecoder(accepting: decoder.accepting, delivery: decoder.delivery) { response in
            guard let body = response.withBody() else {
                return .noContent(response.head)
            }
            return .success(try await decoder.value(from: body), response.head)
        }
    }

    /// What the first of `decoders` makes of the body that can; the error is that of the last.
    ///
    /// The body is collected. A decoder whose types do not include the answer's content type is passed over while
    /// another's do; one without types reads any. Of an empty list every answer is ``RequestError/Reason/notDecoded``.
    public static func firstOf(_ decoders: [ResponseDecoder]) -> ResponseDecoder {
        let types = decoders.contains { $0.accepting.isEmpty } ? [] : decoders.flatMap(\.accepting)
        let limit = decoders.map(\.delivery.limit).max() ?? Delivery.defaultLimit
        return ResponseDecoder(accepting: types, delivery: .collected(limit: limit)) { response in
            var response = response
            response.body = .bytes(try await response.body.collected(limit: limit))
            var failure: any Error = RequestError(.notDecoded, detail: "no decoder was given")
            let reading = decoders.filter { $0.reads(response.head) }
            for decoder in reading.isEmpty ? decoders : reading {
                do {
                    return try await decoder.value(from: response)
                } catch {
                    failure = error
                }
            }
            throw failure
        }
    }

    /// What this decoder makes of the body, or what `other` makes of it when this one cannot.
    public func or(_ other: ResponseDecoder) -> ResponseDecoder {
        .firstOf([self, other])
    }

    private func reads(_ head: ResponseHead) -> Bool {
        guard !accepting.isEmpty, let type = head.contentType else { return true }
        return accepting.contains { $0.reads(type) }
    }
}

extension Delivery {
    /// How many bytes of a body are collected when it is collected.
    var limit: Int {
        if case .collected(let limit) = self { limit } else { Self.defaultLimit }
    }
}

extension RawResponse {
    /// This response; nil when it has no body.
    ///
    /// One in a file, or in a stream of unknown length, counts as a body.
    fileprivate func withBody() -> RawResponse? {
        if head.status.forbidsBody { return nil }
        switch body {
        case .bytes(let data): return data.allSatisfy(\.isJSONWhitespace) ? nil : self
        case .stream(let stream): return stream.length == 0 ? nil : self
        case .file: return self
        }
    }
}

extension UInt8 {
    /// Whether JSON allows the byte between values (RFC 8259 §2).
    var isJSONWhitespace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}

/// The answer to an action: a value, or nothing to say (204, or an empty body).
public enum ActionResult<Value> {
    /// The action was done and there is nothing to say.
    case noContent(ResponseHead)
    /// The action was done, and this is the answer.
    case success(Value, ResponseHead)

    /// Status and header of the answer.
    public var head: ResponseHead {
        switch self {
        case .noContent(let head), .success(_, let head): head
        }
    }

    /// The value; nil when there was nothing to say.
    public var value: Value? {
        if case .success(let value, _) = self { value } else { nil }
    }

    /// The value.
    ///
    /// - Throws: ``RequestError/Reason/unexpectedNoContent`` when there was nothing to say.
    public func get() throws(RequestError) -> Value {
        switch self {
        case .success(let value, _): return value
        case .noContent(let head): throw RequestError(.unexpectedNoContent, response: head)
        }
    }

    /// This result with its value, if there is one, changed by `transform`.
    public func map<New>(_ transform: (Value) throws -> New) rethrows -> ActionResult<New> {
        switch self {
        case .noContent(let head): .noContent(head)
        case .success(let value, let head): .success(try transform(value), head)
        }
    }
}

extension ActionResult: Sendable where Value: Sendable {}
extension ActionResult: Equatable where Value: Equatable {}
