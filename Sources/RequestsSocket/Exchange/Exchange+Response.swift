package import Requests

// The response, as far as it has arrived.
extension Exchange where C: ~Copyable {
    /// The carrier, for tests.
    package var carrier: C {
        _read { yield transfer.carrier }
    }

    /// Returns the response; its body is empty if ``isStreaming``.
    package func response() -> RawResponse {
        named(RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: measurements))
    }

    /// Returns the response of a complete exchange, whose parts are moved out of it (decision 0052).
    package mutating func takeResponse() -> RawResponse {
        if let end = transfer.end { metrics.stamps.end = outgoing.timeLimits.stamp(at: end) }
        // Swapped, because an assignment would copy them.
        var (body, metrics) = (ResponseBody.bytes(Data()), RawResponse.Metrics())
        swap(&body, &self.body)
        swap(&metrics, &self.metrics)
        let head = transfer.takeHead() ?? head
        return named(RawResponse(head: head, body: body, trailers: transfer.trailers, metrics: metrics))
    }

    /// Returns `response` with its request attached.
    private func named(_ response: consuming RawResponse) -> RawResponse {
        response.request = outgoing.request
        response.secretsOfExecutor = outgoing.secrets
        return response
    }

    package var head: ResponseHead {
        transfer.head ?? ResponseHead(status: 0, header: .empty, target: outgoing.request.target)
    }

    /// Whether the body is to be read in pieces.
    package var isStreaming: Bool {
        if case .streaming = state.response { true } else { false }
    }

    /// Whether the response has ended, and the carrier can carry another request.
    package var isCarrierReusable: Bool {
        transfer.isAtEnd
            && transfer.carrier.isReusable(
                afterWholeRequest: state.hasSentRequest, hasRespondedFirst: hasRespondedFirst)
    }

    /// The trailer fields; nil until the body has ended.
    package var trailers: Header? { transfer.isAtEnd ? transfer.trailers : nil }

    package var measurements: RawResponse.Metrics {
        var metrics = metrics
        if let end = transfer.end { metrics.stamps.end = outgoing.timeLimits.stamp(at: end) }
        return metrics
    }
}
