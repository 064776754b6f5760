extension PreparedRequest {
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
