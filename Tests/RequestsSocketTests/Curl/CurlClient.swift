import Requests
import RequestsMiddleware
import RequestsSocket
import TestCorpora

/// A client that performs curl commands with the API of this library.
struct CurlClient {
    typealias Operation = CurlCase.Client.Operation
    typealias Call = Request<AnonymousRequestProvider, Data>

    let test: CurlCase
    let port: String
    let executor: SocketExecutor
    let timeout: Duration
    private let logins = CurlLogins()
    private let cookies = CurlCookies()

    init(test: CurlCase, port: String, executor: SocketExecutor, timeout: Duration) {
        self.test = test
        self.port = port
        self.executor = executor
        self.timeout = timeout
    }

    func perform(_ operation: Operation) async throws(RequestError) -> TypedResponse<Data> {
        guard operation.isDecoding else { return try await performKeepingCookies(operation, with: executor) }
        return try await performKeepingCookies(operation, with: executor.decodingContent())
    }

    private func performKeepingCookies(
        _ operation: Operation, with executor: some RequestExecutor
    ) async throws(RequestError) -> TypedResponse<Data> {
        guard cookies.isUsed(by: operation) else { return try await perform(operation, with: executor) }
        cookies.load(for: operation, of: test, url: text(operation.url))
        return try await perform(operation, with: executor.keepingCookies(in: cookies.store))
    }

    private func perform(
        _ operation: Operation, with executor: some RequestExecutor
    ) async throws(RequestError) -> TypedResponse<Data> {
        let request = try request(of: operation)
        guard let behavior = CurlBehavior(operation) else {
            return try await authenticated(executor, for: operation, request).response(for: request)
        }
        return try await authenticated(executor.intercepted(by: behavior), for: operation, request).response(
            for: request)
    }

    /// Returns the executor with the credentials of an operation that waits for a challenge.
    private func authenticated(
        _ executor: some RequestExecutor, for operation: Operation, _ request: Call
    ) -> any RequestExecutor {
        guard let authenticator = logins.authenticator(for: operation, in: test),
            let environment = RequestEnvironment(string: "/", relativeTo: RequestEnvironment(baseURL: request.baseURL))
        else { return executor }
        return executor.authenticating(with: authenticator, within: environment)
    }

    /// Returns the operations; one with a list of URLs or files is expanded to one for each.
    func operations() -> [Operation] {
        test.client.operations.flatMap { operation in
            var all = [operation]
            if operation.url.hasPrefix("http://@") {
                let name = String(operation.url.dropFirst(8))
                all = lines(of: name == "-" ? "-" : name).map { operation.with(url: $0) }
            }
            return all.flatMap(Self.expandingUploads)
        }
    }

    private static func expandingUploads(_ operation: Operation) -> [Operation] {
        guard let upload = operation.options.first(where: { $0.name == "upload" })?.value, upload.hasPrefix("{"),
            upload.hasSuffix("}")
        else { return [operation] }
        return upload.dropFirst().dropLast().split(separator: ",").map { operation.with(upload: String($0)) }
    }

    func text(_ text: String) -> String { text.replacing("@PORT", with: port) }

    func content(_ name: String) -> Data { test.client.filesB64?[name] ?? Data() }

    private func lines(of name: String) -> [String] {
        String(decoding: content(name), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func request(of operation: Operation) throws(RequestError) -> Call {
        var url = text(operation.url)
        if operation.waitsForChallenge { url = url.withoutUserinfo }
        var endpoint: RequestPath = ""
        if url.hasSuffix("/"), let upload = operation.options.first(where: { $0.name == "upload" })?.value {
            // The name of the file follows the last slash.
            url.removeLast()
            endpoint = "/\(upload.split(separator: "/").last.map(String.init) ?? "")"
        }
        guard let base = URL(string: url) else { throw RequestError(.invalidRequest(.malformedURL)) }
        let provider = AnonymousRequestProvider(baseURL: base)
        var request = Call(api: provider, endpoint: endpoint, responseDecoder: .data).validating(.none)
            .with(redirectPolicy: .none).with(timeouts: Timeouts(firstByte: timeout, betweenBytes: timeout))
        let form = CurlForm(test, operation)
        if !form.parts.isEmpty { send(.multipart(form.parts, style: .browser), as: .post, in: &request) }
        let isGet = operation.options.contains { $0.name == "get" }
        for option in operation.options {
            if isGet, option.name == "data" {
                addQuery(option.value, to: &request)
            } else {
                try apply(option, of: operation, to: &request)
            }
        }
        return request
    }
}

// MARK: Options

extension CurlClient {
    private func apply(_ option: CurlOption, of operation: Operation, to request: inout Call) throws(RequestError) {
        switch option.name {
        case "follow", "follow-keep-method", "follow-trusted":
            request.redirectPolicy.limit = max(request.redirectPolicy.limit, 50)
            request.redirectPolicy.allowsDowngrade = true
        case "post301", "post302": request.redirectPolicy.preservesMethod = true
        case "max-redirs":
            request.redirectPolicy = RedirectPolicy(limit: Int(option.value) ?? 50, allowsDowngrade: true)
        case "header" where option.value.hasPrefix("@"):
            for line in lines(of: String(option.value.dropFirst())) { addField(line, to: &request) }
        case "header": try addField(text(option.value), of: operation, to: &request)
        case "expect100-timeout": request.attributes.continueTimeout = .seconds(Int(option.value) ?? 1)
        case "cookie" where option.value.contains("="):
            request.header.set(Field(name: .cookie, value: text(option.value)))
        case "bearer": request.authenticationProvider = .bearerToken(option.value)
        case "user" where !operation.waitsForChallenge:
            let pair = option.value.cut(at: ":") ?? (option.value, "")
            request.authenticationProvider = .basicAuth(username: pair.0, password: pair.1)
        case "netrc-file": logIn(String(decoding: content(option.value), as: UTF8.self), &request)
        case "url-query": addQuery(encoding: option.value, to: &request)
        case "fail": if !resumes(operation) { request.validator = .standard }
        case "continue-at": resume(at: option.value, operation, &request)
        case "time-cond": addCondition(option.value, to: &request)
        case "etag-compare":
            request.header.set(Field(name: .ifNoneMatch, value: lines(of: option.value).last ?? "\"\""))
        case "referer": request.header.set(Field(name: .referer, value: text(option.value)))
        case "range": request.header.set(Field(name: .range, value: "bytes=\(option.value)"))
        case "method": request.method = HTTPMethod(option.value)
        case "head": request.method = .head
        case "max-filesize":
            request.responseDecoder = ResponseDecoder(limit: Int(option.value) ?? 0) { _, data in data }
        case "upload": upload(option.value, of: operation, in: &request)
        case "max-time":
            request.timeouts.total = .seconds(Double(option.value) ?? 0)
        case "json":
            request.header.set(.accept(.json))
            send(.bytes(json(of: operation), .json), as: .post, in: &request)
        case "data", "data-binary", "data-urlencode":
            let body = try data(of: operation)
            send(.bytes(body, MediaType("application/x-www-form-urlencoded")), as: .post, in: &request)
        default: break
        }
    }

    private func resumes(_ operation: Operation) -> Bool {
        operation.options.contains { $0.name == "continue-at" }
    }

    /// Resumes a download with Range.
    ///
    /// An upload is resumed with Content-Range instead (RFC 9110 §14.5).
    private func resume(at position: String, _ operation: Operation, _ request: inout Call) {
        guard !operation.options.contains(where: { $0.name == "upload" }) else { return }
        let start = Int(position) ?? test.client.filesB64?.values.first?.count ?? 0
        request.header.set(Field(name: .range, value: "bytes=\(start)-"))
        let failsOnStatus = operation.options.contains { $0.name == "fail" }
        request.validator = ResponseValidator { head in
            head.status.code == 206 || head.status.code == 416
                || head.status.isRedirection || (!failsOnStatus && head.status.code >= 400)
                || head.header[.contentLength] == "\(start)"
        }
    }

    private func upload(_ name: String, of operation: Operation, in request: inout Call) {
        let isInput = name == "-" || name == "."
        let whole = content(isInput ? "-" : name)
        let chunks = operation.options.contains { $0.value.lowercased() == "transfer-encoding: chunked" }
        if isInput || chunks {
            let stream = RequestBody.stream(length: nil, isReplayable: true) { OneChunk(chunk: whole) }
            return send(BodyProvider { _ in stream }, as: .put, in: &request)
        }
        guard let position = operation.options.first(where: { $0.name == "continue-at" })?.value else {
            return send(.bytes(whole, nil), as: .put, in: &request)
        }
        let start = Int(position) ?? 0
        request.header.set(
            Field(name: .contentRange, value: "bytes \(start)-\(whole.count - 1)/\(whole.count)"))
        send(.bytes(whole.dropFirst(start), nil), as: .put, in: &request)
    }

    private struct OneChunk: RequestBody.Source {
        var chunk: Data?

        mutating func next() -> Data? { chunk.take() }
    }

    /// Returns the values of all `--json` options, one after the other.
    private func json(of operation: Operation) -> Data {
        operation.options.filter { $0.name == "json" }.reduce(into: Data()) { data, option in
            data +=
                option.value.hasPrefix("@") ? content(String(option.value.dropFirst())) : Data(text(option.value).utf8)
        }
    }

    /// Returns the values of all `--data` options, separated by ampersands.
    private func data(of operation: Operation) throws(RequestError) -> Data {
        var all: Data?
        for option in operation.options where option.name.hasPrefix("data") {
            let one = try data(of: option)
            all = all.map { $0 + Data("&".utf8) + one } ?? one
        }
        return all ?? Data()
    }

    private func data(of option: CurlOption) throws(RequestError) -> Data {
        if option.name == "data-urlencode" {
            let (name, value) = option.value.cut(at: "=") ?? (option.value, "")
            var format = RequestParameters.Format.standard
            format.spaces = .plusInForms
            let form = BodyProvider.form(parameters: [name: .string(value)], format: format)
            var header = Header.empty
            guard let body = try? form.body(updating: &header), case .bytes(let data) = body else {
                throw RequestError(.bodyEncodingFailed)
            }
            return data
        }
        let isFile = option.value.hasPrefix("@")
        let data = isFile ? content(String(option.value.dropFirst())) : Data(text(option.value).utf8)
        let isText = option.name == "data" && isFile
        return isText ? data.filter { ![0x0A, 0x0D, 0].contains($0) } : data
    }

    private func send(_ body: BodyProvider, as method: HTTPMethod, in request: inout Call) {
        if request.method == .get { request.method = method }
        request.bodyProvider = body
    }
}

extension BodyProvider {
    /// Returns a provider of bytes with a content type, unless the request has one.
    fileprivate static func bytes(_ data: Data, _ type: MediaType?) -> BodyProvider {
        BodyProvider { header in
            if let type, !header.contains(.contentType) { header.set(.contentType(type)) }
            return .bytes(data)
        }
    }
}

// MARK: Header and query

extension CurlClient {
    private func addField(_ line: String, of operation: Operation, to request: inout Call) throws(RequestError) {
        switch line.lowercased() {
        case "expect:": break
        // Without a timeout, curl waits for one second.
        case "expect: 100-continue": request.attributes.continueTimeout = .seconds(1)
        // The body is a stream, so it is sent in chunks.
        case "transfer-encoding: chunked" where operation.options.contains { $0.name == "upload" }: break
        default: addField(line, to: &request)
        }
    }

    /// Adds the field of `name: value`; `name;` is a field without a value, and `name:` removes a field of curl.
    private func addField(_ line: String, to request: inout Call) {
        guard let (name, text) = line.cut(at: ":") else {
            guard line.hasSuffix(";") else { return }
            return request.header.add(Field(name: Field.Name(String(line.dropLast())), value: ""))
        }
        let value = text.drop { $0 == " " }
        let end = value.lastIndex { $0 != " " }.map { value.index(after: $0) } ?? value.startIndex
        if end > value.startIndex {
            request.header.add(Field(name: Field.Name(name), value: String(value[..<end])))
        }
    }

    private func addQuery(_ text: String, to request: inout Call) {
        for part in text.split(separator: "&") {
            let (name, value) = String(part).cut(at: "=") ?? (String(part), nil)
            request.queryItems.add(name: name, value: value)
        }
    }

    /// Adds a query item as `--data-urlencode`: text, `name=text`, `@file` or `name@file`; after `+` it is encoded.
    private func addQuery(encoding text: String, to request: inout Call) {
        var (name, value): (String, RequestParameters.Value) = (text, .null)
        if text.hasPrefix("+") {
            name = String(text.dropFirst())
        } else if let (before, after) = text.cut(at: "=") {
            (name, value) = (before, .string(after))
        } else if let (before, file) = text.cut(at: "@") {
            let content = String(decoding: content(file), as: UTF8.self)
            (name, value) = before.isEmpty ? (content, .null) : (before, .string(content))
        }
        request = request.adding(ParameterSet([name: value], in: .query))
    }

    private func logIn(_ netrc: String, _ request: inout Call) {
        let user = request.baseURL.user()
        guard let login = CurlNetrc(netrc).login(for: request.baseURL.host() ?? "", user: user) else { return }
        request.authenticationProvider = .basicAuth(username: login.user, password: login.password)
    }

    /// Adds a condition with the date of all cases, Sunday, 12 December 1999; `-` inverts the condition.
    private func addCondition(_ text: String, to request: inout Call) {
        let time = text.split(separator: " ")[2]
        let name: Field.Name = text.hasPrefix("-") ? .ifUnmodifiedSince : .ifModifiedSince
        request.header.set(Field(name: name, value: "Sun, 12 Dec 1999 \(time) GMT"))
    }
}

extension CurlCase.Client.Operation {
    /// Whether content codings are requested and decoded.
    fileprivate var isDecoding: Bool { options.contains { $0.name == "decompress" } }

    fileprivate func with(url: String) -> Self {
        var copy = self
        copy.url = url
        return copy
    }

    fileprivate func with(upload: String) -> Self {
        var copy = self
        copy.options = options.map { $0.name == "upload" ? CurlOption(name: $0.name, value: upload) : $0 }
        return copy
    }
}
