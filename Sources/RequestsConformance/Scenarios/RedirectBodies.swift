extension Scenario {
    static let redirectBodies: [Scenario] = [
        Scenario(
            name: "a redirect is followed whatever the length of its body", rows: ["R-25", "T-59"], group: .redirects
        ) { context in
            for count in [1_000, 100_000] {
                try await follow("\(count) bytes", [.bytes(Data(count: count))], .standard, in: context)
                try await follow(
                    "\(count) bytes in chunks", [.bytes(Data(count: count))],
                    TestServer.Behavior(framing: .chunked(sizes: [1_000])), in: context)
            }
        },
        Scenario(
            name: "a redirect is followed if its body is truncated, late or endless", rows: ["R-20", "R-25", "T-59"],
            group: .redirects
        ) { context in
            let short = [MockResponse.BodyEvent.bytes(Data(count: 10))]
            let long = Data(count: 100_000)
            for byte in [0, 3, 9] {
                for fault in [
                    TestServer.Fault.truncateBody(atByte: byte), .resetBody(atByte: byte), .stallBody(atByte: byte),
                ] {
                    try await follow("\(fault)", short, .failing(fault), in: context)
                }
            }
            let late = TestServer.Behavior(framing: .chunked(sizes: [7]), fault: .stallBody(atByte: 3))
            try await follow("late in chunks", [.bytes(long)], late, in: context)
            let endless = [MockResponse.BodyEvent.chunks(count: .max) { _ in long }]
            try await follow("endless", endless, .standard, in: context)
            try await follow("endless until closed", endless, TestServer.Behavior(framing: .untilClose), in: context)
        },
        Scenario(
            name: "a redirect with a malformed body is followed", rows: ["R-20", "T-59"], group: .redirects,
            needs: .server, isForHTTP1: true
        ) { context in
            let head = "HTTP/1.1 302 Found\r\nLocation: /next\r\n"
            for remainder in [
                "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!!\r\n",
                "Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 10000000000\r\n\r\nx",
                "Content-Length: 5\r\n\r\nhell",
            ] {
                let counter = Counter()
                try await context.run(
                    serving: MockExecutor(.ok("there")),
                    behaving: { _, _ in counter.next() == 0 ? .failing(.raw(Array((head + remainder).utf8))) : .standard
                    }
                ) { client in
                    try await followed(remainder.debugDescription, .collected(limit: 1 << 20), client)
                }
            }
        },
        Scenario(
            name:
                "the connection of a redirect is reused if its body is short or the connection shared",
            rows: ["R-44"], group: .redirects, needs: .server
        ) { context in
            // `RedirectPolicy.drainLimit` is 64 KiB by default.
            for (count, isReused) in [(0, true), (64 << 10, true), ((64 << 10) + 1, false)] {
                for framing in [TestServer.Behavior.Framing.automatic, .chunked(sizes: [1 << 10])] {
                    var redirect = MockResponse.redirect(to: "/next")
                    redirect.body = [.bytes(Data(count: count))]
                    let mock = MockExecutor { [redirect] in $0.target.path == "/next" ? .ok("there") : redirect }
                    try await context.run(serving: mock, behaving: TestServer.Behavior(framing: framing)) { client in
                        try await followed("\(count) bytes", .collected(limit: 1 << 20), client)
                        try expect(
                            "connection and index of each exchange, \(count) bytes", client.positions,
                            is: [[0, 0], isReused ? [0, 1] : client.secondPosition])
                    }
                }
            }
        },
        Scenario(
            name: "the body of a redirect that is not followed is delivered like any other",
            rows: ["R-20", "R-25", "T-60"],
            group: .redirects
        ) { context in
            let body = Data(count: 100_000)
            var redirect = MockResponse.redirect(to: "/next")
            redirect.body = [.bytes(body)]
            try await context.run(serving: MockExecutor(redirect)) { client in
                try expect("the body of one exchange", try await client.bytes(client.request()), is: body)
                let request = client.client.api.get(.data, from: "/").with(redirectPolicy: .none).validating(.none)
                try expect("the body", try await client.client.perform(request), is: body)
                let error = try await expectFailure(.unexpectedRedirect) {
                    try await client.client.perform(
                        client.client.api.get(.data, from: "/").with(redirectPolicy: RedirectPolicy(limit: 2)))
                }
                try expect("the body over the limit", error.body, is: body)
            }
        },
        Scenario(
            name: "a truncated redirect that is not followed is an error with its head", rows: ["R-20", "T-60"],
            group: .redirects
        ) { context in
            var redirect = MockResponse.redirect(to: "/next")
            redirect.body = [.bytes(Data(count: 1_000))]
            try await context.run(serving: MockExecutor(redirect), fault: .truncateBody(atByte: 10)) { client in
                let request = client.client.api.get(.data, from: "/").with(redirectPolicy: .none).validating(.none)
                let error = try await expectFailure(.connectionLost) { try await client.client.perform(request) }
                try expect("the status", error.status, is: 302)
            }
        },
        Scenario(
            name: "a chunked body is sent again with its length to an HTTP/1.0 server",
            rows: ["R-11", "R-32", "PM-47"],
            group: .redirects, needs: .server, isForHTTP1: true
        ) { context in
            let redirect = "HTTP/1.0 307 Moved\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
            let counter = Counter()
            try await context.run(
                serving: MockExecutor(.ok("there")),
                behaving: { _, _ in counter.next() == 0 ? .failing(.raw(Array(redirect.utf8))) : .standard }
            ) { client in
                let request = client.client.api.post(.raw(body: Chunks.body("hel", "lo")), to: "/", receiving: .text)
                try expect("the text", try await client.client.perform(request), is: "there")
                let sent = client.received
                try expect("Transfer-Encoding at first", sent.first?.header[.transferEncoding], is: "chunked")
                try expect("Transfer-Encoding", sent.last?.header[.transferEncoding], is: nil)
                try expect("Content-Length", sent.last?.header[.contentLength], is: "5")
                try expect("the body", sent.last?.body, is: Data("hello".utf8))
            }
        },
    ]

    /// Follows a redirect whose `body` is sent as `behavior` determines, with each delivery of the response after it.
    private static func follow(
        _ bodyDescription: String, _ body: [MockResponse.BodyEvent], _ behavior: TestServer.Behavior,
        in context: ScenarioContext
    ) async throws {
        var redirect = MockResponse.redirect(307, to: "/next")
        redirect.body = body
        let mock = MockExecutor { [redirect] in $0.target.path == "/next" ? .ok("there") : redirect }
        for delivery in [ResponseBody.Delivery.collected(limit: 6), .collected(limit: 1 << 20), .streamed] {
            let counter = Counter()
            try await context.run(
                serving: mock, behaving: { _, _ in counter.next() == 0 ? behavior : .standard }
            ) { client in
                try await followed(bodyDescription, delivery, client)
            }
        }
    }

    /// Performs a call that is redirected once, and checks that it returns the text after the redirect.
    private static func followed(_ bodyDescription: String, _ delivery: ResponseBody.Delivery, _ client: ScenarioClient)
        async throws
    {
        // Short, because each late or endless body takes this long.
        let policy = RedirectPolicy(drainTimeout: .milliseconds(50))
        let api = client.client.api
        let text: String
        switch delivery {
        case .collected(let limit):
            let decoder = ResponseDecoder(limit: limit) { _, data in String(decoding: data, as: UTF8.self) }
            text = try await client.client.perform(api.get(decoder, from: "/").with(redirectPolicy: policy))
        default:
            let bytes = try await client.client.perform(api.get(.chunks, from: "/").with(redirectPolicy: policy))
            var whole = Data()
            for try await chunk in bytes { whole.append(chunk) }
            text = String(decoding: whole, as: UTF8.self)
        }
        try expect("the text after a redirect with the body “\(bodyDescription)”", text, is: "there")
        try expect("number of requests, body “\(bodyDescription)”", client.received.count, is: 2)
    }
}
