extension Scenario {
    private static let limit = Duration.milliseconds(60)

    static let timeouts: [Scenario] = [
        Scenario(name: "the first-byte limit ends the wait for a response", rows: ["R-48", "T-83"], group: .timeouts) {
            context in
            try await context.run(fault: .stallBeforeHead) { client in
                var request = try client.request()
                request.timeouts.firstByte = limit
                let error = try await expectTimeout(.firstByte) { try await client.send(request) }
                try expect(error.mayHaveReachedServer, "the request may have reached the server")
                request.timeouts.firstByte = .zero
                try await expectFailure(.timedOut(.firstByte), context: "a limit of zero") {
                    try await client.send(request)
                }
                try await client.waitUntilEnded()
            }
        },
        Scenario(
            name: "the limit between bytes ends the wait for the next part of a body", rows: ["R-48"], group: .timeouts
        ) {
            context in
            try await context.run(serving: MockExecutor(.ok("0123456789")), fault: .stallBody(atByte: 4)) { client in
                var request = try client.request()
                request.timeouts.betweenBytes = limit
                let error = try await expectTimeout(.betweenBytes) { try await client.send(request) }
                try expect("the status", error.status, is: 200)
                request.delivery = .streamed
                let stream = try await client.send(request).streamed
                try await expectTimeout(.betweenBytes) { try await stream.collect() }
                try await expectFailure(.timedOut(.betweenBytes), context: "a second read") { try await stream.next() }
                try await client.waitUntilEnded()
            }
        },
        Scenario(name: "the deadline ends every wait", rows: ["R-48"], group: .timeouts) { context in
            for fault in [TestServer.Fault.stallBeforeHead, .stallBody(atByte: 2)] {
                try await context.run(serving: MockExecutor(.ok("0123")), fault: fault) { client in
                    try await expectTimeout(.total) {
                        var request = try client.request()
                        request.deadline = .now + limit
                        return try await client.send(request)
                    }
                    try await client.waitUntilEnded()
                }
            }
        },
        Scenario(name: "a request whose deadline has passed is not sent", rows: ["R-48"], group: .timeouts) { context in
            try await context.run { client in
                var request = try client.request()
                request.deadline = .now - .seconds(1)
                let error = try await expectFailure(.timedOut(.total)) { try await client.send(request) }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                try expect("bytes", client.server?.record.receivedBytes ?? 0, is: 0)
                try expect("requests", client.received.count, is: 0)
            }
        },
        Scenario(name: "the total limit includes redirects", rows: ["R-48"], group: .timeouts) { context in
            let mock = MockExecutor(.redirect(to: "/again").delayed(by: .milliseconds(25)))
            try await context.run(serving: mock) { client in
                let request = client.client.api.get(.none, from: "/").with(timeouts: Timeouts(total: limit))
                try await expectTimeout(.total) { try await client.client.perform(request) }
            }
        },
        Scenario(
            name: "a slow response within its limits succeeds", rows: ["R-48"], group: .timeouts, needs: .server
        ) { context in
            let slow = TestServer.Behavior(pace: .drip(8, every: .milliseconds(2)))
            try await context.run(serving: MockExecutor(.ok("0123456789")), behaving: slow) { client in
                var request = try client.request()
                request.timeouts = Timeouts(firstByte: .seconds(30), betweenBytes: .seconds(30))
                try expect("the text", try await client.text(request), is: "0123456789")
            }
        },
        Scenario(name: "a slow reader does not reach a limit", rows: ["R-48", "R-69"], group: .timeouts) { context in
            try await context.run(serving: MockExecutor(.ok("0123456789"))) { client in
                var request = try client.request(delivery: .streamed)
                request.timeouts.betweenBytes = .milliseconds(200)
                let stream = try await client.send(request).streamed
                // The pause is longer than the limit, which is what this scenario tests.
                try await Task.sleep(for: .milliseconds(300))
                try expect("the body", try await stream.collect(), is: Data("0123456789".utf8))
            }
        },
        Scenario(
            name: "the connect limit ends the wait for a connection", rows: ["R-48"], group: .timeouts, needs: .port
        ) { context in
            try await withFullBacklogPort { port in
                let executor = context.executor()
                let target = try TargetURI("\(context.scheme)://127.0.0.1:\(port)/")
                var request = PreparedRequest(target: target)
                request.timeouts.connect = limit
                let error = try await expectTimeout(.connecting) { try await executor.execute(request) }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                request.timeouts.connect = .seconds(30)
                request.deadline = .now + limit
                try await expectFailure(.timedOut(.total), context: "a deadline") {
                    try await executor.execute(request)
                }
            }
        },
        Scenario(
            name: "the limit between bytes ends the wait for a peer that does not read", rows: ["R-48"],
            group: .timeouts, needs: .port
        ) { context in
            try await withSilentPort { port in
                let executor = context.executor()
                let target = try TargetURI("http://127.0.0.1:\(port)/")
                for body in [RequestBody.bytes(Data(count: 64 << 20)), Chunks.endless] {
                    var request = PreparedRequest(method: .put, target: target, body: body)
                    request.timeouts.betweenBytes = limit
                    try await expectTimeout(.sending) { try await executor.execute(request) }
                }
            }
        },
    ]

    /// Checks which limit ends the wait, and that it does not end early; how late it may be depends on the machine.
    @discardableResult
    private static func expectTimeout<Value>(
        _ phase: RequestError.Phase, file: String = #fileID, line: Int = #line, _ operation: () async throws -> Value
    ) async throws -> RequestError {
        let start = ContinuousClock.now
        let error = try await expectFailure(
            .timedOut(phase), file: file, line: line, context: "the time limit", of: operation)
        let elapsed = ContinuousClock.now - start
        try expect(elapsed >= limit, "the wait takes at least \(limit): \(elapsed)", file: file, line: line)
        return error
    }
}

extension Chunks {
    /// An endless body in chunks of 64 KiB.
    static var endless: RequestBody {
        .stream(length: nil, isReplayable: true) { Endless() }
    }

    private struct Endless: RequestBody.Source {
        mutating func next() async throws -> Data? { Data(count: 65_536) }
    }
}
