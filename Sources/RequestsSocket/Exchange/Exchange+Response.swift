package import Requests

// The response of an exchange, and whether its carrier can be reused.
extension Exchange where C: ~Copyable {
    /// The carrier, for tests.
    package var carrier: C {
        _read { yield transfer.carrier }
    }

    /// Returns the response; its body is empty if ``isStreaming``.
    @inline(__always)  // a call would copy the exchange, 1.4 KB
    package func response() -> RawResponse {
        RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: measurements)
    }

    /// Moves the head and the body out of a complete exchange, and returns the response (decision 0052).
    @inline(__always)  // as above
    package mutating func takeResponse() -> RawResponse {
        // Swapped, because an assignment would copy the body.
        var body = ResponseBody.bytes(Data())
        swap(&body, &self.body)
        let head = transfer.takeHead() ?? head
        return RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: measurements)
    }

    package var head: ResponseHead {
        transfer.head ?? ResponseHead(status: 0, header: .empty, target: outgoing.request.target)
    }

    /// Whether the body is to be read in pieces.
    package var isStreaming: Bool {
        if case .streaming = stage { true } else { false }
    }

    /// Whether the response has ended, and the carrier can carry another request.
    @inline(__always)  // as above
    package var isCarrierReusable: Bool {
        transfer.isAtEnd && transfer.carrier.persists && isUploadComplete && transfer.carrier.unread == 0
    }

    /// The trailer fields; nil until the body has ended.
    package var trailers: Header? { transfer.isAtEnd ? transfer.trailers : nil }

    /// The measurements so far.
    package var measurements: RawResponse.Metrics {
        var metrics = metrics
        if let end = transfer.end { metrics.stamps.end = outgoing.timeLimits.stamp(at: end) }
        return metrics
    }
}
