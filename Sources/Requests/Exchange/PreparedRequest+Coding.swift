extension PreparedRequest {
    /// Returns this request with a field that offers content codings.
    ///
    /// - Parameters:
    ///   - offer: The Accept-Encoding field to add; nil for none.
    ///   - streamingCoded: The value of ``streamsCodedBodies``.
    ///   - delivery: The delivery that replaces that of this request; nil to keep it.
    /// - Returns: The request with these changes.
    package func offering(
        _ offer: Field?, streamingCoded: Bool, delivery: ResponseBody.Delivery? = nil
    ) -> PreparedRequest {
        var request = self
        request.change { parts in
            if let offer { parts.header.add(offer) }
            if let delivery { parts.delivery = delivery }
            parts.streamsCodedBodies = streamingCoded
        }
        return request
    }
}

/// An executor that supports ``PreparedRequest/streamsCodedBodies``.
///
/// The property is set only if such an executor is the next one. Middleware in between would not expect a stream.
package protocol StreamsCodedBodies {}
