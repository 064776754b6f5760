extension PreparedRequest {
    /// Whether middleware may request content codings.
    ///
    /// True unless the method is HEAD, or the header contains Accept-Encoding or Range.
    package var permitsContentCodings: Bool {
        method != .head && !header.contains(.acceptEncoding) && !header.contains(.range)
    }

    /// Returns whether the coded body of a response may end anywhere.
    ///
    /// A streamed `text/event-stream` may, because servers flush its coding without ending it.
    package func permitsCutCoding(of head: ResponseHead) -> Bool {
        guard case .streamed = delivery, let type = head.contentType else { return false }
        return type == .eventStream
    }

    /// Returns this request with a field that offers content codings.
    ///
    /// - Parameters:
    ///   - offer: The Accept-Encoding field to add; nil for none.
    ///   - permitsStream: The value of ``permitsEncodedStream``.
    ///   - delivery: The new delivery; nil to keep the delivery of this request.
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
