extension Scenario {
    private static let echo = MockExecutor { request in
        guard case .bytes(let data) = request.body else { return .status(200) }
        return .data(data)
    }

    static let bodies: [Scenario] = [
        Scenario(
            name: "a request without a body has the Content-Length of its method", rows: ["R-3"], group: .bodies,
            needs: .server
        ) {
            context in
            try await context.run { client in
                for method in [HTTPMethod.get, .head, .delete, .options, .post, .put, .patch] {
                    _ = try await client.send(try client.request(method))
                }
                let lengths = client.received.map { $0.header[.contentLength] }
                try expect("Content-Length", lengths.suffix(3), is: ["0", "0", "0"])
                try expect("Content-Length of GET and HEAD", lengths.prefix(2), is: [nil, nil])
                try expect(
                    client.received.allSatisfy { !$0.header.contains(.transferEncoding) },
                    "no request has Transfer-Encoding")
            }
        },
        Scenario(name: "every kind of body arrives unchanged", rows: ["R-6", "RQ-22"], group: .bodies) { context in
            try await withTemporaryDirectory { directory in
                let path = "\(directory)/body"
                try Data("hello, world".utf8).write(to: URL(filePath: path))
                let bodies: [(RequestBody, String)] = [
                    (.bytes(Data("bytes".utf8)), "bytes"), (.bytes(Data()), ""),
                    (.file(path: path), "hello, world"), (.file(path: path, range: 7..<12), "world"),
                    (.file(path: path, range: 3..<3), ""), (Chunks.body("a", "", "bc"), "abc"),
                    (Chunks.body("", ""), ""), (Chunks.body("a", "", "bc", length: 3), "abc"),
                    (Chunks.body(length: 0), ""), (.oneShot(Chunks("once")), "once"),
                    (.oneShot(length: 4, Chunks("once")), "once"),
                ]
                try await context.run(serving: echo) { client in
                    for (body, expected) in bodies {
                        let text = try await client.text(try client.request(.put, body: body))
                        try expect("the echo of \(body)", text, is: expected)
                    }
                    let received = client.received.map { String(decoding: $0.body, as: UTF8.self) }
                    try expect("the received bodies", received, is: bodies.map(\.1))
                }
            }
        },
        Scenario(
            name: "a multipart form with every kind of part arrives as described",
            rows: ["T-43", "T-46", "PM-50"], group: .bodies
        ) { context in
            try await withTemporaryDirectory { directory in
                let url = URL(filePath: "\(directory)/part.txt")
                try Data("from a file".utf8).write(to: url)
                let parts: [MultipartForm.Part] = [
                    .text("first", name: "a"), .deferred { [.text("second", name: "b")] },
                    .file(at: url, name: "c"), .body(Chunks.body("str", "eam", length: 6), name: "d"),
                ]
                try await context.run(serving: echo) { client in
                    for chosen in [parts, Array(parts.dropFirst(2))] {
                        var header = Header.empty
                        let form = BodyProvider.multipart(chosen, boundary: "B")
                        let body = try form.body(updating: &header)
                        let text = try await client.text(try client.request(.put, body: body))
                        guard case .bytes(let expected) = try await body.collected() else {
                            throw ConformanceFailure("the form cannot be collected")
                        }
                        try expect("the form", text, is: String(decoding: expected, as: UTF8.self))
                        try expect(text.hasSuffix("\r\nstream\r\n--B--\r\n"), "the form ends with its stream: \(text)")
                    }
                }
            }
        },
        Scenario(
            name: "a body of known length has Content-Length; any other is chunked", rows: ["R-3", "D-5"],
            group: .bodies, needs: .server, isForHTTP1: true
        ) { context in
            try await context.run { client in
                let bodies = [.bytes(Data("abc".utf8)), Chunks.body("abc", length: 3), Chunks.body("abc")]
                for body in bodies { _ = try await client.send(try client.request(.post, body: body)) }
                try expect("lengths", client.received.map { $0.header[.contentLength] }, is: ["3", "3", nil])
                try expect("codings", client.received.map { $0.header[.transferEncoding] }, is: [nil, nil, "chunked"])
            }
        },
        Scenario(
            name: "a body longer or shorter than declared is an error, and no request is complete",
            rows: ["R-5"], group: .bodies
        ) { context in
            try await context.run { client in
                for length in [0, 2, 4, 1 << 20] {
                    let request = try client.request(.put, body: Chunks.body("a", "bc", length: length))
                    try await expectFailure(.bodyEncodingFailed, context: "length \(length)") {
                        try await client.send(request)
                    }
                }
                try expect("complete requests", client.received.count, is: 0)
                let after = try client.request(.put, body: Chunks.body("abc", length: 3))
                try expect("the status afterwards", try await client.send(after).head.status, is: 200)
            }
        },
        Scenario(
            name: "a body whose source throws is an error, and no request is complete", rows: ["R-5"], group: .bodies
        ) { context in
            try await context.run { client in
                for length in [nil, 1, 64] {
                    let body = Chunks.body("a", length: length, failing: true)
                    let request = try client.request(.post, body: body)
                    let error = try await expectFailure(
                        .bodyEncodingFailed, context: "length \(String(describing: length))"
                    ) {
                        try await client.send(request)
                    }
                    try expect(
                        error.underlying is Chunks.SourceError, "the source's error is the underlying error: \(error)")
                }
                let failing = RequestBody.stream(length: nil, isReplayable: true) { throw Chunks.SourceError() }
                try await expectFailure(.bodyEncodingFailed, context: "a source that cannot be made") {
                    try await client.send(try client.request(.post, body: failing))
                }
                try expect("complete requests", client.received.count, is: 0)
            }
        },
        Scenario(name: "an unreadable file is rejected before anything is sent", rows: ["RQ-22"], group: .bodies) {
            context in
            try await context.run { client in
                let request = try client.request(.put, body: .file(path: "/nowhere/there"))
                let error = try await expectFailure(.fileAccessFailed) { try await client.send(request) }
                try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                try expect("requests", client.received.count, is: 0)
            }
        },
        Scenario(name: "a one-shot body is sent once and rejected afterwards", rows: ["R-33"], group: .bodies) {
            context in
            try await context.run(serving: echo) { client in
                let request = try client.request(.post, body: .oneShot(length: 4, Chunks("once")))
                try expect("the echo", try await client.text(request), is: "once")
                try await expectFailure(.bodyNotReplayable) { try await client.send(request) }
                try expect("complete requests", client.received.count, is: 1)
            }
        },
        Scenario(name: "large bodies are sent and received unchanged", rows: ["RQ-22"], group: .bodies) { context in
            let data = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
            try await context.run(serving: echo) { client in
                for body in [
                    RequestBody.bytes(data), .oneShot(Chunks([data.prefix(1_000_003), data.dropFirst(1_000_003)])),
                ] {
                    let echoed = try await client.bytes(try client.request(.put, body: body))
                    try expect(echoed == data, "3 MiB are received as they were sent: \(echoed.count) bytes")
                }
            }
        },
        Scenario(
            name: "progress counts the bytes of both bodies and ends with their lengths", rows: ["HT-6"], group: .bodies
        ) {
            context in
            try await context.run(serving: echo) { client in
                let recorder = EventRecorder<TransferProgress>()
                var request = try client.request(.post, body: .bytes(Data(count: 200_000)))
                request.progressHandler = { recorder.record($0) }
                _ = try await client.send(request)
                let last = try need("the last progress", recorder.all.last)
                try expect("sent", last.bytesSent, is: 200_000)
                try expect("received", last.bytesReceived, is: 200_000)
                try expect(
                    recorder.all.map(\.bytesSent) == recorder.all.map(\.bytesSent).sorted(), "the count never decreases"
                )
            }
        },
    ]
}
