/// An attribute of a request, a number.
private enum Visits: RequestAttributes.Key {
    typealias Value = Int
}

extension Scenario {
    static let sentRequests: [Scenario] = [
        Scenario(
            name: "the request of a failed call is performed again as a new one", rows: ["R-20"], group: .redirects
        ) { context in
            let body = Data(count: 100_000)
            var redirect = MockResponse.redirect(to: "/next")
            redirect.body = [.bytes(body)]
            try await context.run(serving: MockExecutor(redirect)) { client in
                let error = try await expectFailure(.unexpectedRedirect) {
                    try await client.client.perform(
                        client.client.api.get(.data, from: "/").with(redirectPolicy: RedirectPolicy(limit: 2)))
                }
                guard let request = error.request else { throw ConformanceFailure("the error has no request") }
                let response = try await client.send(request)
                try expect("the status", response.status, is: 302)
                try expect("the body", try response.collected, is: body)
                // The call itself must not have changed the request either.
                let named = try await client.executor.response(
                    for: client.client.api.get(.data, from: "/").with(redirectPolicy: .none).validating(.none))
                try expect("the path of the request", named.request?.target.path, is: "/")
                try expect("the body of a call", named.value, is: body)
            }
        },
        Scenario(
            name: "a request that middleware keeps is performed later as a new one", rows: ["R-20"], group: .redirects
        ) { context in
            let body = Data(count: 100_000)
            let mock = MockExecutor { request in
                guard request.target.path == "/" else { return .ok("next") }
                var redirect = MockResponse.redirect(to: "/next")
                redirect.body = [.bytes(body)]
                return redirect
            }
            try await context.run(serving: mock) { client in
                let kept = EventRecorder<PreparedRequest>()
                let remainders = EventRecorder<any RequestExecutor>()
                // Two middlewares, because the inner one receives its request from a `next`.
                let executor = client.executor.intercepting { request, next in
                    kept.record(request)
                    remainders.record(next)
                    return try await next.execute(request)
                }.intercepting { request, next in try await next.execute(request) }
                let response = try await executor.response(for: client.client.api.get(.text, from: "/"))
                try expect("the followed response", response.value, is: "next")
                guard let request = kept.all.first else { throw ConformanceFailure("no request was kept") }
                for executor in [client.executor, executor] + remainders.all.prefix(1) {
                    let later = try await executor.execute(request)
                    try expect("the status", later.status, is: 302)
                    try expect("the body", try later.collected, is: body)
                }
            }
        },
        Scenario(
            name: "one request performed many times at once is not changed, and has the same response each time",
            rows: ["R-68"], group: .bodies
        ) { context in
            let mock = MockExecutor { request in
                MockResponse.ok("\(request.header["X-Own"] ?? "") \(request.body.knownLength ?? 0) bytes")
            }
            try await context.run(serving: mock) { client in
                let reports = EventRecorder<TransferProgress>()
                let deadline = ContinuousClock.now + .seconds(3_600)
                let make = {
                    var request = try client.request(
                        .post, "/items", header: [Field(name: "X-Own", value: "1")], body: .bytes(Data("abc".utf8)))
                    request.attributes[Visits.self] = 7
                    request.deadline = deadline
                    request.progressHandler = { reports.record($0) }
                    return request
                }
                let (stored, fresh) = (try make(), try make())
                // The middleware changes its copy of each part.
                let chain = client.executor.intercepting { request, next in
                    var request = request
                    request.header["X-Late"] = "1"
                    request.attributes[Visits.self] = 8
                    request.deadline = deadline - .seconds(1_800)
                    request.progressHandler = nil
                    return try await next.execute(request)
                }.intercepting { request, next in
                    guard request.attributes[Visits.self] == 7 else { throw RequestError(.other, detail: "changed") }
                    return try await next.execute(request)
                }
                for executor in [client.executor, chain] {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<16 {
                            group.addTask {
                                for _ in 0..<63 {
                                    let response = try await executor.execute(stored)
                                    try expect("the body", try response.collected, is: Data("1 3 bytes".utf8))
                                    try expect("the path in the response", response.request?.target, is: fresh.target)
                                }
                            }
                        }
                        try await group.waitForAll()
                    }
                    try expect("the request", stored, is: fresh)
                    // `==` does not compare these parts.
                    try expect("the attribute", stored.attributes[Visits.self], is: 7)
                    try expect("the deadline", stored.deadline, is: fresh.deadline)
                    try expect("the path template", stored.pathTemplate, is: fresh.pathTemplate)
                    let count = reports.all.count
                    stored.progressHandler?(TransferProgress())
                    try expect("the reports of the progress handler", reports.all.count, is: count + 1)
                }
                try expect(
                    "the requests that arrived", Set(client.received.map { "\($0.method) \($0.target)" }).count, is: 1)
            }
        },
        Scenario(
            name: "a response and an error name the request as the executor received it", rows: ["PM-83"],
            group: .bodies
        ) { context in
            try await context.run(serving: MockExecutor(.status(404))) { client in
                let middleware = client.executor.intercepting { request, next in
                    var request = request
                    request.header["X-Late"] = "1"
                    return try await next.execute(request)
                }
                let api = Probe(baseURL: client.baseURL)
                let response = try await middleware.response(for: api.get(.data, from: "/a").validating(.none))
                try expect("the field in the response", response.request?.header["X-Late"], is: "1")
                try expect("the path in the response", response.request?.target.path, is: "/a")
                let error = try await expectFailure(.unacceptableStatus) {
                    try await middleware.perform(api.get(.data, from: "/b"))
                }
                try expect("the field in the error", error.request?.header["X-Late"], is: "1")
                try expect("the path in the error", error.request?.target.path, is: "/b")
            }
        },
    ]
}
