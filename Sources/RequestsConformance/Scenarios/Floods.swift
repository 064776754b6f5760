extension Scenario {
    private static let limit = Duration.milliseconds(300)

    /// Peers that send messages of TLS without end.
    static let floods: [Scenario] = [
        Scenario(
            name: "a flood in a TLS handshake ends a call with an error, or at its limit",
            rows: ["S-31", "S-44", "R-48"], group: .timeouts, needs: .tls
        ) { context in
            try await withTLSFloodPort(.handshake) { port in
                _ = try await expectFailure(.tlsFailed, .timedOut(.total), context: "with a limit") {
                    try await context.executor().execute(port.request(within: limit))
                }
            }
        },
        Scenario(
            name: "cancellation ends a call during a flood in its TLS handshake", rows: ["S-44", "R-67"],
            group: .cancellation, needs: .tls
        ) { context in
            try await withTLSFloodPort(.handshake) { port in
                _ = try await expectFailure(.tlsFailed, .cancelled) {
                    try await cancelling(try port.request(), over: context.executor(), during: port)
                }
            }
        },
        Scenario(
            name: "a flood of messages without data on an established TLS connection ends it", rows: ["S-32", "S-44"],
            group: .faults, needs: .tls, isForHTTP1: true
        ) { context in
            try await withTLSFloodPort(.established) { port in
                for method in [HTTPMethod.get, .post] {
                    var request = try port.request()
                    request.method = method
                    if method == .post { request.body = .bytes(Data(count: 32 << 20)) }
                    let error = try await expectFailure(.tlsFailed, context: "\(method)") {
                        try await context.executor().execute(request)
                    }
                    try expect(error.mayHaveReachedServer, "the request may have reached the server")
                }
            }
        },
        Scenario(
            name: "the limit of a call ends it during a flood on an established TLS connection",
            rows: ["S-44", "S-46", "R-48"], group: .timeouts, needs: .tls, isForHTTP1: true
        ) { context in
            try await withTLSFloodPort(.response) { port in
                _ = try await expectFailure(.timedOut(.total), context: "with a limit") {
                    try await context.executor().execute(port.request(within: limit))
                }
            }
        },
        Scenario(
            name: "cancellation ends a call during a flood on an established TLS connection", rows: ["S-44", "R-67"],
            group: .cancellation, needs: .tls, isForHTTP1: true
        ) { context in
            try await withTLSFloodPort(.response) { port in
                _ = try await expectFailure(.cancelled) {
                    try await cancelling(try port.request(), over: context.executor(), during: port)
                }
            }
        },
    ]

    /// Cancels a call when the port has sent more than a handshake to it.
    private static func cancelling(
        _ request: PreparedRequest, over executor: any RequestExecutor, during port: TLSFloodPort
    ) async throws -> RawResponse {
        let call = Task { try await executor.execute(request) }
        let deadline = Deadline.after(.seconds(60))
        while port.sentBytes < 16 << 10 {
            try expect(!deadline.hasPassed, "the flood begins within 60 seconds")
            await Task.yield()
        }
        call.cancel()
        return try await call.value
    }
}

extension TLSFloodPort {
    /// Returns a request to the port that has no limits except `total`.
    fileprivate func request(within total: Duration? = nil) throws -> PreparedRequest {
        var request = PreparedRequest(target: try TargetURI("https://127.0.0.1:\(number)/"))
        request.timeouts = Timeouts(connect: nil, firstByte: nil, betweenBytes: nil, total: nil)
        request.deadline = total.map { .now + $0 }
        return request
    }
}
