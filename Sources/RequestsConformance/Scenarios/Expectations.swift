extension Scenario {
    static let expectations: [Scenario] = [
        Scenario(
            name: "a body that the server requests with 100 (Continue) is sent, and the response returned",
            rows: ["R-46"], group: .expectations
        ) {
            context in
            try await context.run(serving: MockExecutor(.ok("done"))) { client in
                for body in [RequestBody.bytes(Data("hello".utf8)), Chunks.body("hel", "lo")] {
                    var request = try client.request(.post, body: body)
                    // Longer than the scenario takes: only 100 (Continue) can start the body.
                    request.continueTimeout = .seconds(30)
                    try expect("the text", try await client.text(request), is: "done")
                }
                try expect("the bodies", client.received.map(\.body), is: [Data("hello".utf8), Data("hello".utf8)])
                guard client.server != nil else { return }
                for received in client.received {
                    try expect("Expect", received.header[.expect], is: "100-continue")
                }
            }
        },
        Scenario(
            name: "a final status instead of 100 (Continue) is the response, and the body is not sent",
            rows: ["R-45", "R-46"],
            group: .expectations, needs: .server, isForHTTP1: true
        ) { context in
            let limits = TestServer.Limits(bodyBytes: 10)
            try await context.run(serving: MockExecutor(.ok()), limits: limits, behaving: { _, _ in .standard }) {
                client in
                var request = try client.request(.put, body: .bytes(Data(count: 1 << 20)))
                request.continueTimeout = .seconds(30)
                try expect("the status", try await client.send(request).head.status, is: 413)
                let sent = client.server?.record.receivedBytes ?? 0
                try expect(sent < 4096, "the body is not sent: \(sent) bytes arrived")
                // The server would take the next request on that connection for the body.
                try await client.waitUntilEnded()
                try expect("the next status", try await client.send(try client.request()).head.status, is: .ok)
                try expect("connections", client.positions.map { $0[0] }, is: [0, 1])
            }
        },
        Scenario(
            name: "without 100 (Continue), the body is sent after the timeout", rows: ["R-46"], group: .expectations,
            needs: .server
        ) { context in
            try await context.run(
                serving: MockExecutor(.ok("done")), behaving: TestServer.Behavior(sendsContinue: false)
            ) {
                client in
                var request = try client.request(.post, body: .bytes(Data("hello".utf8)))
                request.continueTimeout = .milliseconds(20)
                try expect("the text", try await client.text(request), is: "done")
                try expect("the body", client.received.map(\.body), is: [Data("hello".utf8)])
            }
        },
        Scenario(
            name: "request trailers arrive after the body, and not in the header", rows: ["R-14"], group: .expectations
        ) {
            context in
            try await context.run(serving: MockExecutor(.ok("done"))) { client in
                var request = try client.request(.post, body: Chunks.body("hel", "lo"))
                request.trailers = PreparedRequest.Trailers([Field(name: "Digest", value: "sha-256=abc")])
                try expect("the text", try await client.text(request), is: "done")
                let received = client.received.first
                try expect("the body", received?.body, is: Data("hello".utf8))
                try expect("the trailers", received?.trailers, is: [Field(name: "Digest", value: "sha-256=abc")])
                try expect("the header", received?.header["Digest"], is: nil)
            }
        },
        Scenario(
            name: "interim responses are reported and are not the response", rows: ["R-18"],
            group: .expectations, needs: .server
        ) { context in
            try await context.run(
                serving: MockExecutor(.ok("done")), behaving: TestServer.Behavior(interim: [102, 103])
            ) {
                client in
                let recorder = EventRecorder<HTTPStatus>()
                var request = try client.request()
                request.interimResponseHandler = { recorder.record($0.status) }
                try expect("the text", try await client.text(request), is: "done")
                try expect("interim responses", recorder.all, is: [102, 103])
            }
        },
    ]
}
