extension PreparedRequest {
    /// Whether a body with a content coding may be returned as a stream although it is to be collected.
    ///
    /// The middleware that decodes the stream then collects the decoded bytes as they arrive. An executor that does this
    /// has the trait ``ExecutorTraits/streamsEncodedBodies``.
    public var permitsEncodedStream: Bool { parts.permitsEncodedStream }

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
        var parts = parts
        if let offer { parts.header.add(offer) }
        if let delivery { parts.delivery = delivery }
        parts.permitsEncodedStream = permitsStream
        var copy = self
        copy.parts = parts
        return copy
    }
}
