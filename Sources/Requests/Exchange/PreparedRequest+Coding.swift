extension PreparedRequest {
    /// Whether middleware may request content codings: this is no HEAD request, and has neither Accept-Encoding nor
    /// Range.
    package var leavesCodingsOpen: Bool {
        method != .head && !header.contains(.acceptEncoding) && !header.contains(.range)
    }

    /// Returns this request with a field that offers content codings.
    ///
    /// - Parameters:
    ///   - offer: The Accept-Encoding field to add; nil for none.
    ///   - permitsStream: The value of ``permitsEncodedStream``.
    ///   - delivery: The delivery that replaces that of this request; nil to keep it.
    /// - Returns: The request with these changes.
    package func offering(
        _ offer: Field?, permittingStream permitsStream: Bool, delivery: ResponseBody.Delivery? = nil
    ) -> PreparedRequest {
        var request = self
        request.change { parts in
            if let offer { parts.header.add(offer) }
            if let delivery { parts.delivery = delivery }
            parts.permitsEncodedStream = permitsStream
        }
        return request
    }
}

extension RawResponse {
    /// Returns whether the body is in memory, has at most `limit` bytes, and has no content coding.
    package func hasPlainBody(upTo limit: Int) -> Bool {
        guard case .bytes(let body) = body, body.count <= max(0, limit) else { return false }
        return !head.header.contains(.contentEncoding)
    }
}
