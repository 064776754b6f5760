extension PreparedRequest {
    /// Whether a response with a content coding may be delivered as a stream although its body is to be collected.
    ///
    /// The middleware that decodes the stream then collects the decoded bytes as they arrive (decision 0013).
    package var streamsCodedBodies: Bool { parts.streamsCodedBodies }

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
        var parts = parts
        if let offer { parts.header.add(offer) }
        if let delivery { parts.delivery = delivery }
        parts.streamsCodedBodies = streamingCoded
        var copy = self
        copy.parts = parts
        return copy
    }
}

/// An executor that supports ``PreparedRequest/streamsCodedBodies``.
///
/// The property is set only if such an executor is the next one. Middleware in between would not expect a stream.
package protocol StreamsCodedBodies {}
