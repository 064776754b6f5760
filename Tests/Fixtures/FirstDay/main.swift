import Foundation
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer

// How often the program's own handler of SIGINT was called.
nonisolated(unsafe) var ownHandlerCalls = 0

// `download URL FILE` is the download of an article: Ctrl-C ends it, and the next run continues it.
if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "download",
    let url = URL(string: CommandLine.arguments[2])
{
    let file = URL(filePath: CommandLine.arguments[3])
    signal(SIGINT) { _ in ownHandlerCalls += 1 }
    do {
        _ = try await download(
            Request(method: .get, baseURL: url).receiving(.download(to: file)), from: SocketExecutor())
        report("\ndownloaded", file.lastPathComponent)
        exit(0)
    } catch {
        report("\nnot downloaded", error)
        // The download restores the handler when its source has been released, which can be after its return.
        for _ in 0..<1_000 where ownHandlerCalls == 0 {
            raise(SIGINT)
            usleep(1_000)
        }
        report("own handler restored", ownHandlerCalls > 0)
        exit((error as? RequestError)?.isCancellation == true ? 130 : 1)
    }
}

// The tasks of a first day, as the articles show them. Each prints one line.

func report(_ task: String, _ result: Any) { print("\(task): \(result)") }

func requests(_ github: Client<GitHub>) async throws {
    let me = try await github.perform(Users.me)
    report("1 decode with the coders of the API", "\(me.login) \(me.createdAt?.timeIntervalSince1970 ?? 0)")
    let added = try await github.perform(Users.add(User(id: 9, login: "bo", createdAt: me.createdAt)))
    report("2 encode with the coders of the API", "\(added.login) \(added.createdAt == me.createdAt)")
    report("3 escape a value in a path", try await github.perform(Users.named("a/b")).login)
    let page: Int? = nil
    let search = try await github.perform {
        $0.get(.json(RepoList.self), from: "/search")
            .with(query: ["q": ["swift", "http"], "since": me.createdAt, "page": page], nulls: .dropped)
    }
    report("4 search with an array, a date and nil", search.query)
    let echo = try await github.perform {
        $0.get(.text, from: "/echo").with(query: ["flag": nil]).with(header: ["X-Client": "first-day"])
            .authenticated(with: .bearerToken("t")).setting(cookie: "theme", to: "dark")
    }
    report("5 header fields, credentials, a cookie", echo)
    let form = try await github.perform {
        $0.post(.form(["grant_type": "password", "scope": nil], nulls: .dropped), to: "/echo", receiving: .text)
    }
    report("6 send a form", form)
    let upload = github.api.post(
        .multipart([.text("Hello", name: "message"), .data(Data("x".utf8), name: "file", filename: "x.txt")]),
        to: "/users")
    let prepared = try upload.prepared()
    report("7 a multipart form as curl", prepared.curlCommand().contains("--form 'message=\"Hello\"").description)
    let raw = try await github.perform {
        $0.put(.raw(data: Data("a,b".utf8), contentType: "text/csv"), to: "/echo", receiving: .text)
    }
    report("8 send another media type", raw)
    report("9 text in another charset", try await github.perform { $0.get(.text, from: "/latin") })
}

func sequences(_ github: Client<GitHub>) async throws {
    var repos: [Int] = []
    for try await repo in github.pages(of: .repos, by: .linkHeader).items { repos.append(repo.id) }
    report("10 items of all pages", repos)
    var events: [String] = []
    for try await event in try await github.perform(.feed) { events.append(event.data) }
    report("11 server-sent events", events)
    var lines: [Int] = []
    let log = try await github.perform { $0.get(.ndjson(Repo.self), from: "/log") }
    for try await line in log { lines.append(line.id) }
    report("12 JSON lines", lines)
    let file = FileManager.default.temporaryDirectory.appending(path: "first-day-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let downloaded = try await github.perform { $0.get(.download(to: file), from: "/log") }
    report("13 download to a file", try Data(contentsOf: downloaded).count)
    let sent = try await github.perform { $0.put(.file(at: file), to: "/echo", receiving: .text) }
    report("14 send a file", sent.split(separator: "|").last?.utf8.count ?? 0)
    let logins = (1...20).map { "user\($0)" }
    let all = try await values(of: logins.map(Users.named), from: github, limit: 4)
    report("15 many requests, a few at a time", "\(all.first?.login ?? "") to \(all.last?.login ?? "")")
}

func errors(_ github: Client<GitHub>) async {
    do throws(RequestError) {
        _ = try await github.perform {
            $0.get(.json(User.self), from: "/users/none").decodingErrorPayload(as: GitHubProblem.self)
        }
    } catch {
        let problem = error.payload(as: GitHubProblem.self)
        report("16 the error of the server", "\(error.status?.code ?? 0) \(problem?.message ?? "")")
    }
    do throws(RequestError) {
        _ = try await github.perform { $0.get(.text, from: "/slow").timeout(after: .milliseconds(50)) }
    } catch {
        if case .timedOut(let phase) = error.reason { report("17 a time limit", phase) }
    }
    do throws(RequestError) {
        _ = try await github.perform { $0.get(.json([Repo].self).limited(to: 4), from: "/repos") }
    } catch {
        report("18 a size limit", error.reason)
    }
}

func executors(_ github: Client<GitHub>) async throws {
    let tagged = github.executor.intercepting { request, next in
        var request = request
        request.header["X-Client"] = "middleware"
        let response = try await next.execute(request)
        return response.status == 200 ? response : try await next.execute(request)
    }
    let client = Client(github.api, executor: tagged)
    report("19 middleware", try await client.perform { $0.get(.text, from: "/echo") })
    let isTest = github.api.baseURL.host() == "127.0.0.1"
    let chosen: any RequestExecutor = isTest ? MockExecutor(.ok("mock")) : SocketExecutor()
    let mocked = try await Client(github.api, executor: chosen).perform { $0.get(.text, from: "/x") }
    let other = try await Client(github.api, executor: executor(named: "memory")).perform { $0.get(.text, from: "/x") }
    report("20 an executor chosen at run time", mocked + other)
    report("21 a blocking call", try blocking(github).login)
    try await testing(github.api)
    let half = TransferProgress(bytesReceived: 10, bytesExpectedToReceive: 20)
    report("25 a progress bar", "\(bar(half)), \(bar(TransferProgress(bytesReceived: 10)))")
}

func testing(_ api: GitHub) async throws {
    let mock = MockExecutor()
    let github = Client(api, executor: mock)
    let ada = User(id: 1, login: "ada", createdAt: Date(timeIntervalSince1970: 0))
    let stub = mock.on(Users.named("ada"), respond: .sequence(.status(503), .value(ada)))
    let status = await error { try await github.perform(Users.named("ada")) }?.status
    let user = try await github.perform(Users.named("ada"))
    try mock.verify()
    report("22 a typed stub", "\(status?.code ?? 0), then \(user == ada), \(stub.callCount) calls")
    let miss = await error { try await github.perform(Users.named("bo")) }
    let isExplained = "\(miss.map { "\($0)" } ?? "")".contains("mock.on(.get, \"/users/bo\", respond:")
    report("23 a request without a stub", "\(miss?.underlying is MockExecutor.UnmatchedRequest) \(isExplained)")
    let difference = snapshotError { () throws(WireSnapshotError) in
        try github.assertWire(Users.me, matches: "GET /users HTTP/1.1")
    }
    report("24 a snapshot of a request", difference?.problem == .differs)
}

func error(of operation: () async throws -> some Sendable) async -> RequestError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? RequestError
    }
}

func snapshotError(of check: () throws(WireSnapshotError) -> Void) -> WireSnapshotError? {
    do throws(WireSnapshotError) {
        try check()
        return nil
    } catch {
        return error
    }
}

// Only a synchronous function can block its thread.
func blocking(_ github: Client<GitHub>) throws(RequestError) -> User {
    try github.performAndWait(Users.me)
}

try await withTestServer(serving: routes) { server in
    let github = Client(GitHub(baseURL: server.baseURL), executor: SocketExecutor())
    try await requests(github)
    try await sequences(github)
    await errors(github)
    try await executors(github)
}
