extension Scenario {
    /// Responses that are sent before the body of the request is read.
    static let earlyResponses: [Scenario] = [
        earlyResponse("a server that responds early and reads on receives the whole body", .reads) { outcome in
            try outcome.expectResponse()
            if outcome.status < 300 {
                try expect(outcome.context, try await outcome.receivedCount(), is: EarlyOutcome.size)
            }
        },
        earlyResponse(
            "an early response that ends the connection is the response", .reads, announcesClose: true
        ) { outcome in try outcome.expectResponse() },
        earlyResponse(
            "an early success for a body that the server does not read is an error with the response", .stopsReading
        ) { outcome in
            if outcome.status < 300 {
                try outcome.expectFailure(.timedOut(.sending))
            } else {
                try outcome.expectResponse()
            }
        },
        earlyResponse(
            "an early response that ends a connection that is not read is the response", .stopsReading,
            announcesClose: true
        ) { outcome in try outcome.expectResponse() },
        earlyResponse(
            "an early success before a reset is an error with the response, and another response is returned", .resets
        ) { outcome in
            if outcome.status < 300 {
                try outcome.expectFailure(.connectionLost)
            } else {
                try outcome.expectResponse()
            }
        },
        earlyResponse(
            "an early response that ends the connection is not lost by a reset", .resets, announcesClose: true
        ) { outcome in try outcome.expectResponse() },
    ]

    private static func earlyResponse(
        _ name: String, _ next: TestServer.Behavior.EarlyResponse.Continuation, announcesClose: Bool = false,
        _ check: @escaping @Sendable (EarlyOutcome) async throws -> Void
    ) -> Scenario {
        // An HTTP/1.1 message that ends its connection also ends the upload; GOAWAY does not.
        Scenario(
            name: name, rows: ["R-45"], group: .expectations, needs: .server,
            isForHTTP1: announcesClose && next != .reads
        ) { context in
            try await withTemporaryDirectory { directory in
                let path = "\(directory)/body"
                let bytes = Data(repeating: 97, count: EarlyOutcome.size)
                try bytes.write(to: URL(filePath: path))
                for status in [HTTPStatus.ok, .accepted, .movedPermanently, .contentTooLarge] {
                    var behavior = TestServer.Behavior.standard
                    behavior.earlyResponse = .init(status, announcesClose: announcesClose, next: next)
                    try await context.run(behaving: behavior) { client in
                        for body in [RequestBody.bytes(bytes), .file(path: path)] {
                            for delivery in [
                                ResponseBody.Delivery.collected(limit: 100), .streamed,
                                .file(path: "\(directory)/response"),
                            ] {
                                var request = try client.request(.post, body: body, delivery: delivery)
                                // Only where the limit must pass: on a busy machine, a response can take as long.
                                if next == .stopsReading, !announcesClose, status.code < 300 {
                                    request.timeouts.betweenBytes = .milliseconds(200)
                                }
                                let outcome = await EarlyOutcome(of: request, status, client)
                                try await check(outcome)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The result of one exchange with an early response.
private struct EarlyOutcome: Sendable {
    /// The length of the body in bytes, which is more than sockets hold while the server does not read.
    static let size = 8 << 20

    /// The status that the server sends.
    let status: Int
    /// The exchange in words.
    let context: String
    private let client: ScenarioClient
    private let result: Result<(status: HTTPStatus, text: String), RequestError>

    /// Performs the exchange, and reads the response to its end.
    init(of request: PreparedRequest, _ status: HTTPStatus, _ client: ScenarioClient) async {
        self.status = status.code
        self.client = client
        context = "\(status.code), \(request.delivery)"
        do throws(RequestError) {
            let response = try await client.send(request)
            result = .success((response.head.status, try await response.early))
        } catch {
            result = .failure(error)
        }
    }

    func expectResponse() throws {
        switch result {
        case .success(let response):
            try expect(context, response.status.code, is: status)
            try expect(context, response.text, is: "early")
        case .failure(let error): throw ConformanceFailure("\(context): expected a response, got \(error)")
        }
    }

    func expectFailure(_ reason: RequestError.Reason) throws {
        switch result {
        case .success: throw ConformanceFailure("\(context): expected the error “\(reason)”, got a response")
        case .failure(let error):
            try expect(context, error.reason, is: reason)
            try expect(context, error.response?.status.code, is: status)
        }
    }

    /// Returns the body length of the last request that the server has received to its end.
    func receivedCount() async throws -> Int {
        let count = client.server?.exchanges.count ?? 0
        try await client.waitUntilReceived(count)
        return client.received.last?.body.count ?? 0
    }
}

extension RawResponse {
    /// The body as text, read to its end.
    fileprivate var early: String {
        get async throws(RequestError) {
            switch body {
            case .bytes(let data): return String(decoding: data, as: UTF8.self)
            case .file(let path): return (try? String(contentsOf: URL(filePath: path), encoding: .utf8)) ?? "no file"
            case .stream(let stream):
                var text = ""
                while let piece = try await stream.next() { text += String(decoding: piece, as: UTF8.self) }
                return text
            }
        }
    }
}
