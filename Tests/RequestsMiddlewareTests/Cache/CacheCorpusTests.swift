@_spi(Lock) import Requests
import RequestsMiddleware
import TestCorpora
import TestSupport
import Testing

@Suite("The cache tests of other projects", .serialized, .timeLimit(.minutes(10)))
struct CacheCorpusTests {
    @Test(
        "every required case passes, and the optional ones are counted", .rows("R-41"),
        .enabled(if: Corpora.arePresent, "the corpora are not here"), arguments: ["memory", "disk"])
    func cases(name: String) async throws {
        var passed: [CacheCase.Kind: Int] = [:]
        var failed: [String] = []
        let folder = TemporaryDirectory()
        for (index, example) in Corpora.cache.enumerated() {
            let store: any CacheStore =
                name == "memory" ? Caching.MemoryStore() : Caching.DiskStore(folder: folder.path(of: "\(index)"))
            let problems = await CacheCaseRun(example, store).run()
            if problems.isEmpty { passed[example.kind, default: 0] += 1 }
            if !problems.isEmpty { failed.append("\(example.kind) \(example.id): \(problems)") }
        }
        for kind in CacheCase.Kind.allCases {
            let count = Corpora.cache.count { $0.kind == kind }
            print("cache.json, \(name): \(kind.rawValue) \(passed[kind] ?? 0) of \(count)")
        }
        if ProcessInfo.processInfo.environment["REQUESTS_CACHE_FAILURES"] != nil { failed.forEach { print($0) } }
        #expect(failed.filter { $0.hasPrefix("required") }.isEmpty, "\(failed.filter { $0.hasPrefix("required") })")
        #expect((passed[.required] ?? 0) >= 80)
    }
}

/// One run of a case through a cache, with a clock that only the case moves.
private final class CacheCaseRun: Sendable {
    private struct State {
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var step = 0
        var contacts = 0
        var seen: [PreparedRequest] = []
        var problems: [String] = []
        /// The validators of the previous step's response.
        var tag: String?
        var modified: String?
        var serverNow = 1_800_000_000
    }

    private let example: CacheCase
    private let store: any CacheStore
    private let state = Lock(State())

    init(_ example: CacheCase, _ store: any CacheStore) {
        self.example = example
        self.store = store
    }

    private struct Origin: RequestExecutor {
        let run: CacheCaseRun

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            try run.response(to: request)
        }
    }

    func run() async -> [String] {
        let caching = Caching(in: store, partition: .named("test")) { [self] in state.withLock { $0.now } }
        let executor = Origin(run: self).intercepted(by: caching)
        for (index, step) in example.steps.enumerated() {
            state.withLock {
                $0.step = index
                $0.seen = []
            }
            do {
                let response = try await executor.execute(request(of: step))
                check(response, step, index)
            } catch {
                if step.expect?.status != nil || step.originWouldAnswer?.disconnectInsteadOfAnswering != true {
                    fail("step \(index) failed: \(error)")
                } else if step.expect?.originContacted == false {
                    fail("step \(index) was not served from the cache")
                }
            }
            while caching.activeRevalidations > 0 { await Task.yield() }
            let seconds = step.thenAdvanceClockSeconds ?? 0
            state.withLock { $0.now += Double(seconds) }
        }
        return state.withLock { $0.problems }
    }

    private func fail(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    private var path: String { "/\(example.id)" }

    private func request(of step: CacheCase.Step) throws -> PreparedRequest {
        var url = "http://cache.example\(path)\(step.request.pathSuffix ?? "")"
        if let query = step.request.query { url += "?\(query)" }
        let method = HTTPMethod(step.request.method)
        var request = PreparedRequest(
            method: method, target: try TargetURI(url), header: Header(fields(step.request.headers ?? [])),
            body: step.request.body.map { .bytes(Data($0.utf8)) } ?? .none)
        if step.request.fetchCacheMode == "no-cache" { request.cachePolicy = .reloadRevalidatingCacheData }
        return request
    }

    private func fields(_ fields: [CacheCase.Field]) -> [Field] {
        fields.compactMap { field in field.value.map { Field(name: Field.Name(field.name), value: text($0)) } }
    }

    private func text(_ value: CacheCase.Value, serverNow: Int? = nil) -> String {
        let (now, previous) = state.withLock { (Int($0.now.timeIntervalSince1970), $0.serverNow) }
        switch value {
        case .text(let text): return text
        case .number(let number): return "\(number)"
        case .date(let seconds): return "\(HTTPDate(secondsSince1970: (serverNow ?? now) + seconds))"
        case .previousDate(let seconds): return "\(HTTPDate(secondsSince1970: previous + seconds))"
        case .resource(let suffix): return suffix.isEmpty ? path : "\(path)/\(suffix)"
        }
    }

    /// The response of the origin in the present step.
    private func response(to request: PreparedRequest) throws(RequestError) -> RawResponse {
        let index = state.withLock { $0.step }
        let answer = example.steps[index].originWouldAnswer
        state.withLock {
            $0.contacts += 1
            $0.seen.append(request)
            $0.now += Double(answer?.delaySeconds ?? 0)
        }
        if answer?.disconnectInsteadOfAnswering == true { throw RequestError(.connectionLost) }
        let (count, now, tag, modified) = state.withLock {
            ($0.contacts, Int($0.now.timeIntervalSince1970), $0.tag, $0.modified)
        }
        var header = Header(fields(answer?.headers ?? []))
        header.add([
            Field(name: "Server-Request-Count", value: "\(count)"),
            Field(name: "Client-Request-Count", value: "\(index + 1)"),
            Field(name: "Server-Now", value: "\(now)"),
        ])
        var (status, body) = (answer?.status ?? 200, answer?.body ?? "body of \(example.id)")
        if let code = answer?.ifValidatorMatchesPrevious {
            let matches =
                request.header[.ifNoneMatch].map { $0 == tag } ?? request.header[.ifModifiedSince].map {
                    $0 == modified
                } ?? false
            if matches { (status, body) = (code, "") } else { fail("step \(index): the validator does not match") }
        }
        if !header.contains(.contentType) { header.add(.contentType("text/plain")) }
        state.withLock {
            ($0.tag, $0.modified) = (header[.etag] ?? tag, header[.lastModified] ?? modified)
        }
        if request.method == .head { body = "" }
        return RawResponse(
            head: ResponseHead(status: HTTPStatus(status), header: header, target: request.target),
            body: .bytes(Data(body.utf8)))
    }

    private func check(_ response: RawResponse, _ step: CacheCase.Step, _ index: Int) {
        let serverNow = response.header["Server-Now"].flatMap { Int($0) }
        if let serverNow { state.withLock { $0.serverNow = serverNow } }
        guard let expect = step.expect else { return }
        let seen = state.withLock { $0.seen }
        // A response of an earlier step comes from the cache, also if the origin was contacted in vain or afterwards.
        let isOlder = response.header["Client-Request-Count"].flatMap { Int($0) }.map { $0 <= index } ?? false
        if let contacted = expect.originContacted, contacted ? seen.isEmpty : !seen.isEmpty && !isOlder {
            fail("step \(index): contacted \(!seen.isEmpty)")
        }
        if let status = expect.status, status != response.status.code { fail("step \(index): \(response.status)") }
        if let body = expect.body, case .bytes(let data) = response.body, data != Data(body.utf8) {
            fail("step \(index): body \(String(decoding: data, as: UTF8.self))")
        }
        for field in expect.responseHeaders ?? [] {
            let value = response.header[Field.Name(field.name)]
            let operand = field.value.map { text($0, serverNow: serverNow) }
            let holds =
                switch (field.operation, operand) {
                case (">", let operand?): (value.flatMap { Int($0) } ?? -1) > Int(operand) ?? .max
                case ("=", let operand?): value == response.header[Field.Name(operand)]
                case (_, let operand?): value == operand
                default: value != nil
                }
            if !holds { fail("step \(index): \(field.name) is \(value ?? "missing"), not \(operand ?? "present")") }
        }
        for field in expect.responseHeadersMissing ?? [] {
            let values = response.header.values(of: Field.Name(field.name))
            let isPresent = field.value.map { values.contains(text($0, serverNow: serverNow)) } ?? !values.isEmpty
            if isPresent { fail("step \(index): has \(field.name)") }
        }
        for name in expect.requestHas ?? [] where !seen.contains(where: { $0.header.contains(Field.Name(name)) }) {
            fail("step \(index): the origin received no \(name)")
        }
        for field in expect.originSeesHeaders ?? [] {
            let value = field.value.map { text($0) }
            if !seen.contains(where: { $0.header[Field.Name(field.name)] == value }) {
                fail("step \(index): the origin received another \(field.name)")
            }
        }
        if let method = expect.originSeesMethod, !seen.contains(where: { $0.method == HTTPMethod(method) }) {
            fail("step \(index): the origin received no \(method)")
        }
    }
}
