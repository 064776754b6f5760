extension PreparedRequest {
    /// Whether a response with a content coding may be handed over as a stream though it is to be collected: whoever undoes
    /// the coding collects what comes of it, as it arrives.
    package var streamsCodedBodies: Bool { parts.streamsCodedBodies }

    /// This request with `offer`, which names content codings, with their bodies as streams if `streamingCoded` says so,
    /// and with `delivery` in the place of its own if there is one.
    package func offering(_ offer: Field?, streamingCoded: Bool, delivery: Delivery? = nil) -> PreparedRequest {
        var parts = parts
        if let offer { parts.header.add(offer) }
        if let delivery { parts.delivery = delivery }
        parts.streamsCodedBodies = streamingCoded
        var copy = self
        copy.parts = parts
        return copy
    }
}

/// An executor that heeds ``PreparedRequest/streamsCodedBodies``.
///
/// Middleware between it and who undoes the codings would not know what to make of it: so that is asked of an executor that
/// comes next, and of no other.
package protocol StreamsCodedBodies {}
