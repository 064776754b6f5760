extension Scenario {
    static let cancellation: [Scenario] = [
        Scenario(name: "a cancelled task sends nothing", rows: ["R-67"], group: .cancellation) { context in
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
        Scenario(
            name: "cancelling ends the wait for a head and closes the connection", rows: ["R-67", "R-44"],
            group: .cancellation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("next")), behaving: stallingFirst(.stallBeforeHead)) {
                client in
                let request = try client.request()
                let task = Task { try await client.send(request) }
                try await client.waitUntilReceived(1)
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await client.waitUntilOpen(0)
                try expect("the next text", try await client.text(request), is: "next")
            }
        },
        Scenario(
            name: "cancelling ends the wait inside a collected body and closes the connection", rows: ["R-67", "R-44"],
            group: .cancellation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("next")), behaving: stallingFirst(.stallBody(atByte: 2))) {
                client in
                let request = try client.request()
                let task = Task { try await client.send(request) }
                try await client.waitUntilReceived(1)
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await client.waitUntilOpen(0)
                try expect("the next text", try await client.text(request), is: "next")
            }
        },
        Scenario(
            name: "cancelling ends the wait for the next chunk, and every read after it", rows: ["R-67", "R-44"],
            group: .cancellation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("next")), behaving: stallingFirst(.stallBody(atByte: 2))) {
                client in
                let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                try expect("the first chunk", try await stream.next(), is: Data("ne".utf8))
                let task = Task { try await stream.next() }
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await expectFailure(.cancelled) { try await stream.next() }
                try await client.waitUntilOpen(0)
                try expect("the next text", try await client.text(try client.request()), is: "next")
            }
        },
        Scenario(
            name: "cancelling ends the sending of a body that is still produced", rows: ["R-67"], group: .cancellation
        ) { context in
            try await context.run { client in
                let request = try client.request(.put, body: .stream { Waiting() })
                let task = Task { try await client.send(request) }
                if let server = client.server { try await server.waitUntil { !$0.exchanges.isEmpty } }
                task.cancel()
                try await expectFailure(.cancelled) { try await task.value }
                try await client.waitUntilOpen(0)
                try expect("complete requests", client.received.count, is: 0)
            }
        },
        Scenario(
            name: "cancelling ends the wait for a connection", rows: ["R-67"], group: .cancellation, needs: .port
        ) { context in
            try await withUnansweringPort { port in
                let executor = context.executor()
                var request = PreparedRequest(target: try TargetURI("http://127.0.0.1:\(port)/"))
                // Among many other tests this one may go on late.
                request.timeouts.connect = .seconds(50)
                let task = Task { [request] in try await executor.execute(request) }
                await Task.yield()
                task.cancel()
                let error = try await expectFailure(.cancelled) { try await task.value }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
            }
        },
        Scenario(
            name: "between requests that are cancelled, each response is its own", rows: ["R-44", "R-67"],
            group: .cancellation
        ) { context in
            let mock = MockExecutor { request in .ok(request.target.path) }
            try await context.run(serving: mock) { client in
                for round in 0..<100 {
                    let doomed = try client.request(.get, "/doomed-\(round)")
                    let task = Task { try await client.send(doomed) }
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
            name: "a streamed body that is cancelled gives every byte or fails, wherever it is cancelled",
            rows: ["R-67", "R-20"], group: .cancellation
        ) { context in
            let body = Data("a body that arrives at once".utf8)
            try await context.run(serving: MockExecutor(.data(body))) { client in
                var cancelled = 0
                for round in 0..<100 {
                    let received = Told<Int>()
                    var request = try client.request(delivery: .streamed)
                    request.onProgress = { received.tell($0.received) }
                    let task = Task { [request] in
                        let stream = try await client.send(request).streamed
                        // Executors that report no progress are given some time instead.
                        for _ in 0..<round * 10 where received.all.last != body.count { await Task.yield() }
                        for _ in 0..<round % 10 { await Task.yield() }
                        withUnsafeCurrentTask { $0?.cancel() }
                        return try await stream.collect()
                    }
                    if try await isCancelled(task, orGives: body) { cancelled += 1 }
                }
                try expect(cancelled > 0, "one of 100 calls was cancelled before its body had been read")
            }
        },
        Scenario(
            name: "a streamed body whose reader is cancelled gives every byte or fails", rows: ["R-67", "R-20"],
            group: .cancellation
        ) { context in
            let body = Data("a body that arrives at once".utf8)
            try await context.run(serving: MockExecutor(.data(body))) { client in
                var cancelled = 0
                for round in 0..<100 {
                    let request = try client.request(delivery: .streamed)
                    let task = Task { try await client.send(request).streamed.collect() }
                    for _ in 0..<round * 3 { await Task.yield() }
                    task.cancel()
                    if try await isCancelled(task, orGives: body) { cancelled += 1 }
                }
                try expect(cancelled > 0, "one of 100 calls was cancelled before its body had been read")
            }
        },
    ]

    /// Expects `task` to give exactly `body`, or to fail because it was cancelled; whether it was.
    private static func isCancelled(_ task: Task<Data, any Error>, orGives body: Data) async throws -> Bool {
        switch await task.result {
        case .success(let data):
            try expect("the body of a cancelled call", data, is: body)
            return false
        case .failure(let error):
            try expect("the reason", (error as? RequestError)?.reason, is: .cancelled)
            return true
        }
    }

    /// The fault on the first connection's first exchange, or in memory in the first exchange, and none afterwards.
    private static func stallingFirst(_ fault: Fault) -> @Sendable (Int, Int) -> Behavior {
        { connection, exchange in connection == 0 && exchange == 0 ? .failing(fault) : .standard }
    }
}

/// A body of one chunk, after which nothing comes until the task is cancelled.
private struct Waiting: AsyncSequence, AsyncIteratorProtocol {
    private var hasBegun = false

    func makeAsyncIterator() -> Waiting { self }

    mutating func next() async throws -> Data? {
        if hasBegun { try await Task.sleep(for: .seconds(3_600)) }
        hasBegun = true
        return Data("begin".utf8)
    }
}
