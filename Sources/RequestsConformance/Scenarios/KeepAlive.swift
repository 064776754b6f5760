extension Scenario {
    static let keepAlive: [Scenario] = [
        Scenario(
            name: "a connection is reused after a response that allows it", rows: ["R-47"], group: .keepAlive,
            needs: .server
        ) { context in
            let mock = MockExecutor { request in
                request.target.path == "/204" ? .status(204) : .ok("hello")
            }
            try await context.run(serving: mock) { client in
                for (method, path) in [(HTTPMethod.get, "/"), (.head, "/"), (.get, "/204"), (.get, "/")] {
                    _ = try await client.send(try client.request(method, path))
                }
                let streamed = try await client.send(try client.request(delivery: .streamed))
                _ = try await streamed.streamed.collect()
                let last = try await client.send(try client.request(.put, body: Chunks.body("a", "b")))
                try expect("connection and index of each exchange", client.positions, is: (0..<6).map { [0, $0] })
                try expect(last.metrics.isReusedConnection, "the metrics report the reuse")
            }
        },
        Scenario(
            name: "a connection that the server closes is not reused", rows: ["R-47"], group: .keepAlive,
            needs: .server
        ) { context in
            let closing = MockResponse.ok("a").adding(headerField: Field(name: .connection, value: "close"))
            try await context.run(serving: MockExecutor(closing)) { client in
                for _ in 0..<3 { _ = try await client.send(try client.request()) }
                try expect("connection and index of each exchange", client.positions, is: [[0, 0], [1, 0], [2, 0]])
            }
            try await context.run(serving: MockExecutor(.ok("a")), behaving: TestServer.Behavior(framing: .untilClose))
            { client in
                for _ in 0..<2 { _ = try await client.send(try client.request()) }
                try expect("connection and index of each exchange", client.positions, is: [[0, 0], [1, 0]])
            }
        },
        Scenario(
            name: "a pooled connection that the server has closed is replaced", rows: ["R-42"], group: .keepAlive,
            needs: .server
        ) { context in
            try await context.run(serving: MockExecutor(.ok("a")), fault: .unannouncedClose) { client in
                for _ in 0..<3 {
                    try expect("the text", try await client.text(try client.request()), is: "a")
                    try await client.server?.waitUntil { $0.openConnections == 0 }
                }
                try expect("connection and index of each exchange", client.positions, is: [[0, 0], [1, 0], [2, 0]])
            }
        },
        Scenario(
            name: "unsolicited bytes end the connection only", rows: ["R-22"],
            group: .keepAlive, needs: .server
        ) { context in
            let unsolicited = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)
            try await context.run(serving: MockExecutor(.ok("good")), fault: .unsolicitedBytes(unsolicited)) { client in
                for _ in 0..<3 { try expect("the text", try await client.text(try client.request()), is: "good") }
                // A connection that seems idle may turn out to be closed when it is written to; the request is then
                // sent again.
                try expect("requests that shared a connection", client.positions.filter { $0[1] != 0 }, is: [])
            }
        },
        Scenario(
            name: "a partially read response ends its connection or stream, and the next request uses a new one",
            rows: ["R-44"],
            group: .keepAlive, needs: .server
        ) { context in
            // Endless: an executor without back-pressure would receive a finite response whole and keep its connection.
            let long = MockResponse(body: [.chunks(count: .max) { _ in Data(count: 65_536) }])
            let mock = MockExecutor { $0.target.path == "/long" ? long : .ok("short") }
            try await context.run(serving: mock) { client in
                try await Self.readOneChunk(client)
                try await client.waitUntilEnded()
                try expect("the text", try await client.text(try client.request()), is: "short")
                try expect(
                    "connection and index of each exchange", client.positions, is: [[0, 0], client.secondPosition])
            }
        },
        Scenario(
            name: "a response over the limit ends its connection or stream", rows: ["R-25", "R-44"], group: .keepAlive,
            needs: .server
        ) { context in
            try await context.run(serving: MockExecutor(.ok(String(repeating: "x", count: 300_000)))) { client in
                try await expectFailure(.tooLarge(limit: 1000)) {
                    try await client.send(try client.request(delivery: .collected(limit: 1000)))
                }
                try await client.waitUntilEnded()
                _ = try await client.send(try client.request())
                try expect(
                    "connection and index of each exchange", client.positions, is: [[0, 0], client.secondPosition])
            }
        },
        Scenario(
            name: "a failed request body ends its connection or stream, and the next request uses a new one",
            rows: ["R-5", "R-44"],
            group: .keepAlive, needs: .server
        ) { context in
            try await context.run { client in
                _ = try await client.send(try client.request())
                let broken = try client.request(.put, body: Chunks.body("ab", length: 3))
                try await expectFailure(.bodyEncodingFailed) { try await client.send(broken) }
                try await client.waitUntilEnded()
                _ = try await client.send(try client.request())
                let index = 2 * client.secondPosition[1]
                try expect("the index of the last exchange on its connection", client.positions.last?.last, is: index)
                try expect("complete requests", client.received.count, is: 2)
            }
        },
        Scenario(
            name: "an HTTP/1.0 response closes its connection unless it has keep-alive", rows: ["R-47"],
            group: .keepAlive, needs: .server, isForHTTP1: true
        ) { context in
            let body = "Content-Length: 1\r\n\r\na"
            for (head, isKept) in [
                ("HTTP/1.0 200 OK\r\n", false), ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", true),
            ] {
                try await context.run(fault: .rawWithoutClosing(Array((head + body).utf8))) { client in
                    for _ in 0..<2 {
                        try expect("the text", try await client.text(try client.request()), is: "a")
                        if !isKept { try await client.waitUntilEnded() }
                    }
                    let second = isKept ? [0, 1] : [1, 0]
                    try expect("connection and index of each exchange", client.positions, is: [[0, 0], second])
                }
            }
        },
        Scenario(
            name: "a response before the end of the request body is returned, and its connection is closed",
            rows: ["R-45"],
            group: .keepAlive, needs: .server, isForHTTP1: true
        ) { context in
            let limits = TestServer.Limits(bodyBytes: 1000)
            try await context.run(serving: MockExecutor(.ok()), limits: limits, behaving: { _, _ in .standard }) {
                client in
                for body in [RequestBody.bytes(Data(count: 8 << 20)), Chunks.endless] {
                    let response = try await client.send(try client.request(.put, body: body))
                    try expect("the status", response.head.status, is: 413)
                }
                try await client.waitUntilEnded()
                try expect("the status afterwards", try await client.send(try client.request()).head.status, is: 200)
                try expect("connection and index of each exchange", client.positions, is: [[0, 0], [1, 0], [2, 0]])
            }
        },
        Scenario(
            name: "each of many concurrent requests receives its own response", rows: ["R-60", "R-68"],
            group: .keepAlive
        ) { context in
            let mock = MockExecutor { request in
                let number = Int(request.target.path.dropFirst()) ?? 0
                let response = MockResponse.ok(String(repeating: "\(number) ", count: number))
                return number.isMultiple(of: 3) ? response.delayed(by: .milliseconds(number % 7)) : response
            }
            try await context.run(serving: mock) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            var request = try client.request(.get, "/\(number)")
                            // The last request waits for a connection until most of the others have ended.
                            request.timeouts.connect = .seconds(50)
                            let text = try await client.text(request)
                            let expected = String(repeating: "\(number) ", count: number)
                            try expect("the text of \(number)", text, is: expected)
                        }
                    }
                    try await group.waitForAll()
                }
                try expect("requests", Set(client.received.map(\.target)).count, is: 100)
            }
        },
    ]

    /// Reads a part of a long response and releases it.
    private static func readOneChunk(_ client: ScenarioClient) async throws {
        let stream = try await client.send(try client.request(.get, "/long", delivery: .streamed)).streamed
        try expect(try await stream.next() != nil, "there is a first chunk")
    }
}
