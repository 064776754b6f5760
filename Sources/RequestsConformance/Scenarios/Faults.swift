extension Scenario {
    static let faults: [Scenario] = [
        Scenario(
            name: "a connection that closes before the response is an error, and the request is sent once",
            rows: ["T-87", "R-43", "L4"], group: .faults
        ) {
            context in
            for fault in [
                TestServer.Fault.closeBeforeHead, .resetBeforeHead, .truncateHead(atByte: 0), .truncateHead(atByte: 12),
                .truncateHead(atByte: 30),
            ] {
                try await context.run(serving: MockExecutor(.ok("0123456789")), fault: fault) { client in
                    for method in [HTTPMethod.get, .post] {
                        let error = try await expectFailure(.connectionLost, context: "\(fault)") {
                            try await client.send(try client.request(method))
                        }
                        try expect(error.mayHaveReachedServer, "the request may have reached the server")
                        try expect("the response", error.response, is: nil)
                        try expect("the request of the error", error.request?.method, is: method)
                    }
                    if client.server != nil {
                        try expect("requests", client.received.map(\.method), is: [.get, .post])
                    }
                    try await client.waitUntilEnded()
                }
            }
        },
        Scenario(
            name: "a truncated body is an error, never a shorter value", rows: ["R-20", "T-87", "L4"], group: .faults
        ) { context in
            let mock = MockExecutor(.ok("0123456789"))
            for behavior in (0..<10).flatMap(Self.cuts) {
                try await context.run(serving: mock, behaving: behavior) { client in
                    let error = try await expectFailure(.connectionLost, context: "\(behavior)") {
                        try await client.send(try client.request())
                    }
                    try expect("the status", error.status, is: 200)
                    let received = String(decoding: error.body ?? Data(), as: UTF8.self)
                    try expect("0123456789".hasPrefix(received), "the error's body is a prefix: \(received)")
                    try await client.waitUntilEnded()
                }
            }
        },
        Scenario(
            name: "a truncated stream delivers the received bytes, then the error at each read",
            rows: ["R-20", "T-87"],
            group: .faults
        ) {
            context in
            let mock = MockExecutor(.ok("0123456789"))
            for behavior in [0, 1, 9].flatMap(Self.cuts) {
                try await context.run(serving: mock, behaving: behavior) { client in
                    let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                    let received = ReceivedBytes()
                    try await expectFailure(.connectionLost, context: "\(behavior)") {
                        while let chunk = try await stream.next() { received.append(chunk) }
                    }
                    try expect(
                        Data("0123456789".utf8).starts(with: received.data),
                        "the received bytes are a prefix of the body")
                    try await expectFailure(.connectionLost, context: "a second read") { try await stream.next() }
                }
            }
        },
        Scenario(
            name: "a chunked body without its last chunk is truncated", rows: ["R-20"], group: .faults,
            needs: .server, isForHTTP1: true
        ) {
            context in
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            let whole = "3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n"
            for length in 0..<whole.utf8.count {
                let bytes = Array((head + whole).utf8.prefix(head.utf8.count + length))
                try await context.run(fault: .raw(bytes)) { client in
                    try await expectFailure(.connectionLost, context: "cut at \(length)") {
                        try await client.send(try client.request())
                    }
                }
            }
            try await context.run(fault: .raw(Array((head + whole).utf8))) { client in
                try expect("the whole body", try await client.text(try client.request()), is: "abc")
            }
        },
        Scenario(
            name: "a malformed response is a protocol violation", rows: ["T-87", "L4", "RQ-27", "HT-33"], group: .faults
        ) {
            context in
            try await context.run(fault: .garbage) { client in
                let error = try await expectFailure(.protocolViolation) { try await client.send(try client.request()) }
                try expect("the response", error.response, is: nil)
                try expect(error.mayHaveReachedServer, "the request may have reached the server")
                try await client.waitUntilEnded()
            }
        },
        Scenario(
            name: "an ambiguous response is a protocol violation",
            rows: ["R-9", "R-10", "R-12", "R-26"], group: .faults, needs: .server
        ) { context in
            let responses = [
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc",
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
                "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
                "HTTP/1.1 99 Odd\r\n\r\n", "HTTP/3.0 200 OK\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
            ]
            for response in responses {
                try await context.run(fault: .rawWithoutClosing(Array(response.utf8))) { client in
                    try await expectFailure(.protocolViolation, context: response) {
                        try await client.send(try client.request())
                    }
                    try await client.waitUntilEnded()
                }
            }
        },
        Scenario(
            name: "a refused connection is a connection failure, and nothing is sent", rows: ["T-87", "L4"],
            group: .faults, needs: .port
        ) {
            context in
            try await withRefusingPort { port in
                let executor = context.executor()
                let target = try TargetURI("\(context.scheme)://127.0.0.1:\(port)/")
                let request = PreparedRequest(method: .post, target: target)
                let error = try await expectFailure(.connectionFailed) { try await executor.execute(request) }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
            }
        },
        // A label of 64 bytes exceeds the maximum of 63, so no name server is queried.
        Scenario(
            name: "a host without an address is not found, and nothing is sent", rows: ["T-87", "L4"], group: .faults,
            needs: .port
        ) {
            context in
            let host = String(repeating: "a", count: 64) + ".invalid"
            let request = PreparedRequest(method: .post, target: try TargetURI("\(context.scheme)://\(host)/"))
            let error = try await expectFailure(.hostNotFound) { try await context.executor().execute(request) }
            try expect(!error.mayHaveReachedServer, "nothing has reached the server")
        },
        Scenario(
            name: "an unsupported scheme is an error, and nothing is sent", rows: ["L4"], group: .faults,
            needs: .server
        ) {
            context in
            for scheme in ["ftp", "file", "unix", "gopher"] {
                let request = PreparedRequest(target: try TargetURI("\(scheme)://127.0.0.1/"))
                let error = try await expectFailure(.unsupportedScheme, context: scheme) {
                    try await context.executor().execute(request)
                }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
            }
        },
    ]

    /// Returns behaviors that end a body of ten bytes at `byte`, in each way in which a body can end early.
    private static func cuts(at byte: Int) -> [TestServer.Behavior] {
        [
            .failing(.truncateBody(atByte: byte)), .failing(.resetBody(atByte: byte)),
            TestServer.Behavior(framing: .chunked(sizes: [4]), fault: .truncateBody(atByte: byte)),
        ]
    }
}

private final class ReceivedBytes {
    private(set) var data = Data()

    func append(_ chunk: Data) { data.append(chunk) }
}
