extension Scenario {
    static let asking: [Scenario] = [
        Scenario(name: "a body that the server asks for is sent, and the answer given", rows: ["R-46"], group: .asking)
        {
            context in
            try await context.run(serving: MockExecutor(.ok("done"))) { client in
                for body in [RequestBody.bytes(Data("hello".utf8)), Chunks.body("hel", "lo")] {
                    var request = try client.request(.post, body: body)
                    // Long enough to tell that the server has asked.
                    request.continueWait = .seconds(30)
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
            name: "a refusal in the place of 100 is the answer, and the body stays here", rows: ["R-45", "R-46"],
            group: .asking, needs: .server
        ) { context in
            let limits = TestServer.Limits(bodyBytes: 10)
            try await context.run(serving: MockExecutor(.ok()), limits: limits, behaving: { _, _ in .standard }) {
                client in
                var request = try client.request(.put, body: .bytes(Data(count: 1 << 20)))
                request.continueWait = .seconds(30)
                try expect("the status", try await client.send(request).head.status, is: 413)
                let sent = client.server?.record.receivedBytes ?? 0
                try expect(sent < 4096, "the body was not sent: \(sent) bytes came")
                // Whatever came next on that connection would be taken for the body.
                try await client.waitUntilOpen(0)
                try expect("the next", try await client.send(try client.request()).head.status, is: .ok)
                try expect("connections", client.places.map { $0[0] }, is: [0, 1])
            }
        },
        Scenario(
            name: "a server that does not ask gets the body after the wait", rows: ["R-46"], group: .asking,
            needs: .server
        ) { context in
            try await context.run(serving: MockExecutor(.ok("done")), behaving: Behavior(sendsContinue: false)) {
                client in
                var request = try client.request(.post, body: .bytes(Data("hello".utf8)))
                request.continueWait = .milliseconds(20)
                try expect("the text", try await client.text(request), is: "done")
                try expect("the body", client.received.map(\.body), is: [Data("hello".utf8)])
            }
        },
        Scenario(name: "fields behind a body arrive there, and not in the header", rows: ["R-14"], group: .asking) {
            context in
            try await context.run(serving: MockExecutor(.ok("done"))) { client in
                var request = try client.request(.post, body: Chunks.body("hel", "lo"))
                request.trailers = RequestTrailers([Field(name: "Digest", value: "sha-256=abc")])
                try expect("the text", try await client.text(request), is: "done")
                let received = client.received.first
                try expect("the body", received?.body, is: Data("hello".utf8))
                try expect("the trailers", received?.trailers, is: [Field(name: "Digest", value: "sha-256=abc")])
                try expect("the header's", received?.header["Digest"], is: nil)
            }
        },
        Scenario(
            name: "what the server says before its answer is told, and is not the answer", rows: ["R-18"],
            group: .asking, needs: .server
        ) { context in
            try await context.run(serving: MockExecutor(.ok("done")), behaving: Behavior(interim: [102, 103])) {
                client in
                let told = Told<HTTPStatus>()
                var request = try client.request()
                request.onInterimResponse = { told.tell($0.status) }
                try expect("the text", try await client.text(request), is: "done")
                try expect("interim responses", told.all, is: [102, 103])
            }
        },
    ]
}
