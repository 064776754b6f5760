extension ResponseDecoder {
    /// Returns this decoder with its value transformed by `transform`.
    ///
    /// An error of `transform` becomes ``RequestError/Reason/decodingFailed``. The accepted types and the delivery stay
    /// the same.
    public func map<New>(
        _ transform: @escaping @Sendable (Response) async throws -> New
    ) -> ResponseDecoder<New> {
        ResponseDecoder<New>(accepting: acceptedTypes, delivery: delivery) { response, makeDecoder in
            try await transform(value(from: response, makeDecoder))
        }
    }

    /// Returns this decoder with its value transformed by `transform`, which also receives the status and header.
    public func map<New>(
        withHead transform: @escaping @Sendable (Response, ResponseHead) async throws -> New
    ) -> ResponseDecoder<New> {
        ResponseDecoder<New>(accepting: acceptedTypes, delivery: delivery) { response, makeDecoder in
            try await transform(value(from: response, makeDecoder), response.head)
        }
    }

    /// This decoder, with the status and header in addition to its value.
    public var withHead: ResponseDecoder<(value: Response, head: ResponseHead)> {
        map(withHead: { (value: $0, head: $1) })
    }

    /// Returns this decoder with its accepted types replaced by `types`; an empty list accepts any type.
    public func accepting(_ types: [MediaType]) -> ResponseDecoder {
        ResponseDecoder(accepting: types, delivery: delivery) { try await value(from: $0, $1) }
    }

    /// Returns a decoder that reads the body with `decoder`, and returns nil when there is no body.
    ///
    /// A response has no body when its status forbids one (204 or 304), when the body is empty, and when it contains
    /// only white space.
    public static func optional<Wrapped>(_ decoder: ResponseDecoder<Wrapped>) -> ResponseDecoder
    where Response == Wrapped? {
        ResponseDecoder(accepting: decoder.acceptedTypes, delivery: decoder.delivery) { response, makeDecoder in
            guard let body = response.withBody() else { return nil }
            return try await decoder.value(from: body, makeDecoder)
        }
    }

    /// Returns a decoder for the response to an action, which reads the body with `decoder` if there is one.
    public static func action<Value>(_ decoder: ResponseDecoder<Value>) -> ResponseDecoder
    where Response == ActionResult<Value> {
        ResponseDecoder(accepting: decoder.acceptedTypes, delivery: decoder.delivery) { response, makeDecoder in
            guard let body = response.withBody() else {
                return .noContent(response.head)
            }
            return .success(try await decoder.value(from: body, makeDecoder), response.head)
        }
    }

    /// Returns a decoder that tries `decoders` in order and returns the value of the first that succeeds.
    ///
    /// The body is collected in memory. A decoder whose types do not include the content type of the response is
    /// skipped if another decoder's types include it; a decoder without types reads any type. If all fail, the error of
    /// the last one is thrown. With an empty list, every response fails with ``RequestError/Reason/decodingFailed``.
    public static func firstOf(_ decoders: [ResponseDecoder]) -> ResponseDecoder {
        let types = decoders.contains { $0.acceptedTypes.isEmpty } ? [] : decoders.flatMap(\.acceptedTypes)
        let limit = decoders.map(\.delivery.limit).max() ?? ResponseBody.Delivery.defaultLimit
        return ResponseDecoder(accepting: types, delivery: .collected(limit: limit)) { response, makeDecoder in
            var response = response
            // Collected once, because a stream can be read by one decoder only.
            response.body = .bytes(try await response.body.collected(limit: limit))
            var failure: any Error = RequestError(.decodingFailed, detail: "firstOf(_:) has no decoders")
            let candidates = decoders.filter { $0.reads(response.head) }
            for decoder in candidates.isEmpty ? decoders : candidates {
                do {
                    return try await decoder.value(from: response, makeDecoder)
                } catch {
                    failure = error
                }
            }
            throw failure
        }
    }

    /// Returns a decoder that tries this decoder first and then `other`.
    public func or(_ other: ResponseDecoder) -> ResponseDecoder {
        .firstOf([self, other])
    }

    /// Returns whether the accepted types include the content type of `head`; true if either is missing.
    private func reads(_ head: ResponseHead) -> Bool {
        guard !acceptedTypes.isEmpty, let type = head.contentType else { return true }
        return acceptedTypes.contains { $0.reads(type) }
    }
}

extension ResponseBody.Delivery {
    /// The maximum number of bytes to collect when the body is collected in memory.
    var limit: Int {
        if case .collected(let limit) = self { limit } else { Self.defaultLimit }
    }
}

extension RawResponse {
    /// Returns this response, or nil when it has no body.
    ///
    /// A file, and a stream of unknown length, count as a body.
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

/// The result of an action: a value, or no content (204 or an empty body).
public enum ActionResult<Value> {
    /// The action succeeded and returned no content.
    case noContent(ResponseHead)
    /// The action succeeded and returned a value.
    case success(Value, ResponseHead)

    /// The status and header of the response.
    public var head: ResponseHead {
        switch self {
        case .noContent(let head), .success(_, let head): head
        }
    }

    /// The value; nil when there is no content.
    public var value: Value? {
        if case .success(let value, _) = self { value } else { nil }
    }

    /// Returns the value.
    ///
    /// - Throws: ``RequestError/Reason/unexpectedNoContent`` when there is no content.
    public func get() throws(RequestError) -> Value {
        switch self {
        case .success(let value, _): return value
        case .noContent(let head): throw RequestError(.unexpectedNoContent, response: head)
        }
    }

    /// Returns this result with its value, if there is one, transformed by `transform`.
    public func map<New>(_ transform: (Value) throws -> New) rethrows -> ActionResult<New> {
        switch self {
        case .noContent(let head): .noContent(head)
        case .success(let value, let head): .success(try transform(value), head)
        }
    }
}

extension ActionResult: Sendable where Value: Sendable {}
extension ActionResult: Equatable where Value: Equatable {}
