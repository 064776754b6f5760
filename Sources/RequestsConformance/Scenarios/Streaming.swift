extension Scenario {
    static let streaming: [Scenario] = [
        Scenario(name: "a slow reader slows down the sender", rows: ["R-69"], group: .streaming) { context in
            let (count, size) = (4096, 65_536)
            let made = Counter()
            let mock = MockExecutor { _ in
                MockResponse(
                    body: [
                        .chunks(count: count) { index in
                            made.next()
                            return Data(repeating: UInt8(truncatingIfNeeded: index), count: size)
                        }
                    ])
            }
            try await context.run(serving: mock) { client in
                let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                var received = try need("the first chunk", try await stream.next()).count
                // The server is blocked in a write, or has sent everything because nothing slowed it down.
                try await client.server?.waitUntil { $0.stalledWrites > 0 || made.value == count }
                try expect(
                    made.value < count / 4, "few chunks are produced for one that is read: \(made.value) of \(count)")
                while received < size * 100, let chunk = try await stream.next() { received += chunk.count }
                try expect(
                    received >= size * 100, "the remaining chunks are delivered as they are read: \(received) bytes")
            }
        },
        Scenario(
            name: "releasing a stream ends its connection, or its HTTP/2 stream", rows: ["R-44"], group: .streaming
        ) {
            context in
            let mock = MockExecutor(MockResponse(body: [.chunks(count: .max) { _ in Data(count: 1000) }]))
            try await context.run(serving: mock) { client in
                try await Self.openAndRelease(client, reading: 0)
                try await client.waitUntilEnded()
                try await Self.openAndRelease(client, reading: 1)
                try await client.waitUntilEnded()
            }
        },
        Scenario(
            name: "chunks arrive as they are sent, not when the body is complete", rows: ["R-69"], group: .streaming
        ) { context in
            try await context.run(serving: MockExecutor(.ok("0123")), fault: .stallBody(atByte: 2)) { client in
                let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                try expect("the first chunk", try await stream.next(), is: Data("01".utf8))
            }
        },
        Scenario(
            name: "lines and chunks are decoded whatever the framing of the body", rows: ["RQ-25"], group: .streaming
        ) {
            context in
            let text = "one\r\ntwo\n\nthree ü\nlast"
            for behavior in [
                TestServer.Behavior.standard, TestServer.Behavior(framing: .chunked(sizes: [1])),
                TestServer.Behavior(framing: .chunked(sizes: [3])),
            ] {
                try await context.run(serving: MockExecutor(.ok(text)), behaving: behavior) { client in
                    let api = client.client.api
                    var lines: [String] = []
                    for try await line in try await client.client.perform(api.get(.lines, from: "/")) {
                        lines.append(line)
                    }
                    try expect("the lines", lines, is: ["one", "two", "", "three ü", "last"])
                    var bytes = Data()
                    for try await chunk in try await client.client.perform(api.get(.chunks, from: "/")) {
                        bytes.append(chunk)
                    }
                    try expect("the bytes", bytes, is: Data(text.utf8))
                }
            }
        },
        Scenario(
            name: "a collected body of the maximum size is delivered; one more byte is an error", rows: ["R-25"],
            group: .streaming
        ) { context in
            for behavior in [
                TestServer.Behavior.standard, TestServer.Behavior(framing: .chunked(sizes: [7])),
                TestServer.Behavior(framing: .untilClose),
            ] {
                try await context.run(serving: MockExecutor(.ok("0123456789")), behaving: behavior) { client in
                    let taken = try client.request(delivery: .collected(limit: 10))
                    try expect("the text", try await client.text(taken), is: "0123456789")
                    let error = try await expectFailure(.tooLarge(limit: 9)) {
                        try await client.send(try client.request(delivery: .collected(limit: 9)))
                    }
                    try expect("the status", error.status, is: 200)
                }
            }
        },
        Scenario(name: "a download replaces the existing file as a whole", rows: ["RQ-27"], group: .streaming) {
            context in
            let data = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
            try await withTemporaryDirectory { directory in
                let path = "\(directory)/download"
                try Data("old".utf8).write(to: URL(filePath: path))
                for behavior in [
                    TestServer.Behavior.standard, TestServer.Behavior(framing: .chunked(sizes: [70_000])),
                    TestServer.Behavior(framing: .untilClose),
                ] {
                    try await context.run(serving: MockExecutor(.data(data)), behaving: behavior) { client in
                        let response = try await client.send(try client.request(delivery: .file(path: path)))
                        guard case .file(path) = response.body else {
                            throw ConformanceFailure("expected a file body, got \(response.body)")
                        }
                        try expect(try Data(contentsOf: URL(filePath: path)) == data, "the file is the body")
                        try expect(
                            "the directory", try FileManager.default.contentsOfDirectory(atPath: directory),
                            is: ["download"])
                    }
                }
            }
        },
        Scenario(
            name: "a failed download creates no file and does not change an existing one", rows: ["R-20"],
            group: .streaming
        ) {
            context in
            let faults: [TestServer.Fault] = [
                .closeBeforeHead, .truncateBody(atByte: 5), .resetBody(atByte: 0), .garbage,
            ]
            for fault in faults {
                try await withTemporaryDirectory { directory in
                    try await context.run(serving: MockExecutor(.ok("0123456789")), fault: fault) { client in
                        let reasons: [RequestError.Reason] = [.connectionLost, .protocolViolation]
                        let expected = fault == .garbage ? reasons[1] : reasons[0]
                        let request = try client.request(delivery: .file(path: "\(directory)/new"))
                        try await expectFailure(expected, context: "\(fault)") { try await client.send(request) }
                        try expect(
                            "the directory", try FileManager.default.contentsOfDirectory(atPath: directory), is: [])
                        let old = Data("old".utf8)
                        try old.write(to: URL(filePath: "\(directory)/new"))
                        try await expectFailure(expected, context: "\(fault)") { try await client.send(request) }
                        try expect("the file", try Data(contentsOf: URL(filePath: "\(directory)/new")), is: old)
                        try expect(
                            "the directory", try FileManager.default.contentsOfDirectory(atPath: directory), is: ["new"]
                        )
                    }
                }
            }
        },
        Scenario(
            name: "a download with an error status is collected, and no file is created", rows: ["RQ-27"],
            group: .streaming
        ) {
            context in
            try await withTemporaryDirectory { directory in
                try await context.run(serving: MockExecutor(.status(404, "not here"))) { client in
                    let response = try await client.send(try client.request(delivery: .file(path: "\(directory)/new")))
                    try expect("the body", try response.collected, is: Data("not here".utf8))
                    try expect("the directory", try FileManager.default.contentsOfDirectory(atPath: directory), is: [])
                }
            }
        },
        Scenario(
            name: "a download to a path that cannot be written is refused before anything is sent", rows: ["RQ-27"],
            group: .streaming
        ) { context in
            try await withTemporaryDirectory { directory in
                let kept = "\(directory)/kept"
                try Data("old".utf8).write(to: URL(filePath: kept))
                try await context.run(serving: MockExecutor(.ok("0123456789"))) { client in
                    let long = "\(directory)/\(String(repeating: "n", count: 256))"
                    let paths = [
                        "\(directory)/none/new", directory, "\(directory)/", "\(kept)/new", "/dev/null", "", long,
                    ]
                    for path in paths {
                        for method in [HTTPMethod.get, .post] {
                            let body: RequestBody = method == .post ? .bytes(Data("data".utf8)) : .none
                            let request = try client.request(method, body: body, delivery: .file(path: path))
                            let error = try await expectFailure(.fileAccessFailed) { try await client.send(request) }
                            try expect("\(error)".contains(path.prefix(60)), "the error names the path: \(error)")
                            try expect(!error.mayHaveReachedServer, "nothing was sent to “\(path)”")
                        }
                    }
                    try expect("the requests", client.received.count, is: 0)
                    try expect("the connections", client.server?.record.acceptedConnections ?? 0, is: 0)
                    try expect(
                        "the directory", try FileManager.default.contentsOfDirectory(atPath: directory), is: ["kept"])
                    try expect("the file", try Data(contentsOf: URL(filePath: kept)), is: Data("old".utf8))
                }
            }
        },
    ]

    /// Opens a stream, reads `count` chunks and releases it.
    private static func openAndRelease(_ client: ScenarioClient, reading count: Int) async throws {
        let stream = try await client.send(try client.request(delivery: .streamed)).streamed
        for _ in 0..<count { _ = try await stream.next() }
    }
}
