extension Scenario {
    static let cancellation: [Scenario] = [
        Scenario(name: "a cancelled task sends nothing", rows: ["R-67", "T-61"], group: .cancellation) { context in
            try await context.run { client in
                let request = try client.request()
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await client.send(request)
                }
                let error = try await expectFailure(.cancelled) { try await task.value }
                try expect(error.isCancellation, "it is a cancellation")
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                try expect("bytes", client.server?.record.receivedBytes ?? 0, is: 0)
                try expect("requests", client.received.count, is: 0)
            }
        },
        stalled(
            "cancellation ends the wait for a response and ends the connection or stream", by: .stallBeforeHead),
        stalled(
            "cancellation ends the wait for a collected body and ends the connection or stream",
            by: .stallBody(atByte: 2)),
        Scenario(
            name: "cancellation ends the wait for the next chunk and every later read",
            rows: ["R-67", "R-44", "T-61"], group: .cancellation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("next")), behaving: stallingFirst(.stallBody(atByte: 2))) {
                client in
                let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                try expect("the first chunk", try await stream.next(), is: Data("ne".utf8))
                let task = Task { try await stream.next() }
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await expectFailure(.cancelled) { try await stream.next() }
                try await client.waitUntilEnded()
                try expect("the next text", try await client.text(try client.request()), is: "next")
            }
        },
        Scenario(
            name: "cancellation ends the sending of a streamed body", rows: ["R-67", "T-61"], group: .cancellation
        ) { context in
            try await context.run { client in
                let request = try client.request(.put, body: .stream { NeverEndingSequence() })
                let task = Task { try await client.send(request) }
                if let server = client.server { try await server.waitUntil { !$0.exchanges.isEmpty } }
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await client.waitUntilEnded()
                try expect("complete requests", client.received.count, is: 0)
            }
        },
        Scenario(
            name: "cancellation ends the wait for a connection", rows: ["R-67", "T-61"], group: .cancellation,
            needs: .port
        ) { context in
            try await withFullBacklogPort { port in
                let executor = context.executor()
                let target = try TargetURI("\(context.scheme)://127.0.0.1:\(port)/")
                var request = PreparedRequest(target: target)
                // Long enough for a busy machine, on which this task may continue late.
                request.timeouts.connect = .seconds(50)
                let task = Task { [request] in try await executor.execute(request) }
                await Task.yield()
                task.cancel()
                let error = try await expectFailure(.cancelled) { try await task.value }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
            }
        },
        Scenario(
            name: "requests between cancelled ones receive their own responses", rows: ["R-44", "R-67"],
            group: .cancellation
        ) { context in
            let mock = MockExecutor { request in .ok(request.target.path) }
            try await context.run(serving: mock) { client in
                for round in 0..<100 {
                    let cancelled = try client.request(.get, "/cancelled-\(round)")
                    let task = Task { try await client.send(cancelled) }
                    for _ in 0..<round % 17 { await Task.yield() }
                    task.cancel()
                    let path = "/kept-\(round)"
                    try expect("the text", try await client.text(try client.request(.get, path)), is: path)
                    if case .failure(let error) = await task.result {
                        try expect("the reason", (error as? RequestError)?.reason, is: .cancelled)
                    }
                }
            }
        },
        Scenario(
            name: "a cancelled call with a streamed body delivers every byte or fails",
            rows: ["R-67", "R-20"], group: .cancellation
        ) { context in
            let body = Data("a body that arrives at once".utf8)
            try await context.run(serving: MockExecutor(.data(body))) { client in
                var cancelledCount = 0
                for round in 0..<100 {
                    let received = EventRecorder<Int>()
                    var request = try client.request(delivery: .streamed)
                    request.progressHandler = { received.record($0.bytesReceived) }
                    let task = Task { [request] in
                        let stream = try await client.send(request).streamed
                        // Executors that do not report progress get some time instead.
                        for _ in 0..<round * 10 where received.all.last != body.count { await Task.yield() }
                        for _ in 0..<round % 10 { await Task.yield() }
                        withUnsafeCurrentTask { $0?.cancel() }
                        return try await stream.collect()
                    }
                    if try await isCancelled(task, orReturns: body) { cancelledCount += 1 }
                }
                try expect(cancelledCount > 0, "at least one of 100 calls is cancelled before its body is read")
            }
        },
        Scenario(
            name: "a streamed body with a cancelled reader delivers every byte or fails", rows: ["R-67", "R-20"],
            group: .cancellation
        ) { context in
            let body = Data("a body that arrives at once".utf8)
            try await context.run(serving: MockExecutor(.data(body))) { client in
                var cancelledCount = 0
                for round in 0..<100 {
                    let request = try client.request(delivery: .streamed)
                    let task = Task { try await client.send(request).streamed.collect() }
                    for _ in 0..<round * 3 { await Task.yield() }
                    task.cancel()
                    if try await isCancelled(task, orReturns: body) { cancelledCount += 1 }
                }
                try expect(cancelledCount > 0, "at least one of 100 calls is cancelled before its body is read")
            }
        },
    ]

    /// Checks that `task` returns exactly `body`, or fails because it was cancelled.
    ///
    /// - Returns: Whether it was cancelled.
    private static func isCancelled(_ task: Task<Data, any Error>, orReturns body: Data) async throws -> Bool {
        switch await task.result {
        case .success(let data):
            try expect("the body of a cancelled call", data, is: body)
            return false
        case .failure(let error):
            try expect("the reason", (error as? RequestError)?.reason, is: .cancelled)
            return true
        }
    }

    /// Returns a scenario that cancels a call whose response is stalled by `fault`.
    private static func stalled(_ name: String, by fault: TestServer.Fault) -> Scenario {
        Scenario(name: name, rows: ["R-67", "R-44", "T-61"], group: .cancellation) { context in
            try await context.run(serving: MockExecutor(.ok("next")), behaving: stallingFirst(fault)) { client in
                let request = try client.request()
                let task = Task { try await client.send(request) }
                try await client.waitUntilReceived(1)
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await client.waitUntilEnded()
                try expect("the next text", try await client.text(request), is: "next")
            }
        }
    }

    /// Returns a function that injects `fault` into the first exchange of the first connection only.
    ///
    /// In memory, it injects the fault into the first exchange.
    private static func stallingFirst(_ fault: TestServer.Fault) -> @Sendable (Int, Int) -> TestServer.Behavior {
        { connection, exchange in connection == 0 && exchange == 0 ? .failing(fault) : .standard }
    }
}

/// A sequence of one chunk that then waits until its task is cancelled.
private struct NeverEndingSequence: AsyncSequence, AsyncIteratorProtocol {
    private var hasBegun = false

    func makeAsyncIterator() -> NeverEndingSequence { self }

    mutating func next() async throws -> Data? {
        if hasBegun { try await Task.sleep(for: .seconds(3_600)) }
        hasBegun = true
        return Data("begin".utf8)
    }
}
