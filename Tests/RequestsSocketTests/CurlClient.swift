import Requests
import RequestsSocket
import TestCorpora

/// Does what a curl command says, as far as this library has the feature.
struct CurlClient {
    /// The needs that are met; what else a case needs leaves it out.
    static let metNeeds: Set = [
        "redirect", "redirect-limit", "upload", "range", "bearer", "json", "max-body-size", "expect-timeout", "query",
        "status-as-error", "time-condition", "resume", "etag-file",
    ]

    /// The options that are understood; a case with any other is left out.
    static let metOptions: Set = [
        "header", "follow", "max-redirs", "data", "data-binary", "json", "method", "head", "upload", "range",
        "max-filesize", "referer", "expect100-timeout", "bearer", "user", "get", "url-query", "fail", "continue-at",
        "time-cond", "etag-compare",
    ]

    /// What keeps the case from being run: the names of needs and options that are not met.
    static func unmet(by test: CurlCase) -> [String] {
        let options = test.client.operations.flatMap(\.options)
        return test.needs.filter { !metNeeds.contains($0) }
            + Set(options.map(\.name)).subtracting(metOptions).map { "--\($0)" }
            + Set(options.compactMap(unmetValue))
            + (test.client.operations.contains {
                !$0.url.hasPrefix("http://") || $0.url.contains("@LOG") || $0.url.hasPrefix("http://@")
            } ? ["URLs from elsewhere"] : [])
            + (test.client.operations.contains(where: namesUpload) ? ["upload named after its file"] : [])
            + (test.client.operations.contains(where: resumesUpload) ? ["resuming an upload"] : [])
            + (test.expect.errorKind == "range" ? ["an error where a range is ignored"] : [])
    }

    /// What the value of an option asks for that is no matter of HTTP requests.
    private static func unmetValue(_ option: CurlOption) -> String? {
        let value = option.value.lowercased()
        switch option.name {
        case "header" where isExpectation(value): return nil
        case "url-query" where !value.utf8.allSatisfy({ $0 == 0x3D || (0x61...0x7A).contains($0) }):
            return "parts of a query that curl encodes"
        case "continue-at" where Int(value) == nil: return "resuming after what a file has"
        case "upload" where !value.hasPrefix("@log") || value.contains("["):
            return "upload from standard input or globs"
        case "header" where value.hasPrefix("@"): return "fields from a file"
        case "header" where isOwned(value): return "framing fields by hand"
        case "header" where isMalformed(value): return "malformed fields"
        case "referer" where value.contains(";auto"): return "automatic Referer"
        default: return nil
        }
    }

    /// The field that asks for 100 (Continue), or that asks curl not to.
    private static func isExpectation(_ line: String) -> Bool {
        line == "expect:" || line == "expect: 100-continue"
    }

    private static func isMalformed(_ line: String) -> Bool {
        guard let colon = line.firstIndex(of: ":") else { return line.contains(";") }
        return line[..<colon].contains(" ")
    }

    private static func isOwned(_ line: String) -> Bool {
        ["host", "transfer-encoding", "expect", "te", "content-length", "connection"].contains { name in
            line.hasPrefix(name + ":") || line.hasPrefix(name + ";")
        }
    }

    private static func resumesUpload(_ operation: CurlCase.Client.Operation) -> Bool {
        let names = operation.options.map(\.name)
        return names.contains("continue-at") && names.contains("upload")
    }

    private static func namesUpload(_ operation: CurlCase.Client.Operation) -> Bool {
        operation.url.hasSuffix("/") && operation.options.contains { $0.name == "upload" }
    }

    let test: CurlCase
    let port: String
    let executor: SocketExecutor

    func perform(_ operation: CurlCase.Client.Operation) async throws -> TypedResponse<Data> {
        let provider = AnonymousRequestProvider(baseURL: URL(string: text(operation.url)) ?? URL(filePath: "/"))
        var request = Request(api: provider, endpoint: "", responseDecoder: .data).validating(.none)
            .redirecting(.none)
        let isGet = operation.options.contains { $0.name == "get" }
        for option in operation.options {
            if isGet, option.name == "data" {
                addQuery(option.value, to: &request)
            } else {
                try apply(option, to: &request)
            }
        }
        return try await executor.response(for: request)
    }

    private func text(_ text: String) -> String { text.replacing("@PORT", with: port) }

    private func content(_ value: String) throws -> Data {
        test.client.filesB64?[value] ?? Data()
    }

    private func apply(_ option: CurlOption, to request: inout Request<AnonymousRequestProvider, Data>) throws {
        switch option.name {
        case "follow":
            request.redirects = RedirectPolicy(limit: max(request.redirects.limit, 50), allowsDowngrade: true)
        case "max-redirs": request.redirects = RedirectPolicy(limit: Int(option.value) ?? 50, allowsDowngrade: true)
        case "header" where Self.isExpectation(option.value.lowercased()):
            // Without a time of its own, curl waits for a second.
            if option.value.lowercased() != "expect:" { request.attributes.continueWait = .seconds(1) }
        case "expect100-timeout": request.attributes.continueWait = .seconds(Int(option.value) ?? 1)
        case "bearer": request.authenticationProvider = .bearerToken(option.value)
        case "user": authenticate(option.value, &request)
        case "url-query": addQuery(option.value, to: &request)
        case "fail": request.validator = .standard
        case "continue-at": request.header.set(Field(name: .range, value: "bytes=\(option.value)-"))
        case "time-cond": addCondition(option.value, to: &request)
        case "etag-compare":
            let tag = String(decoding: try content(option.value), as: UTF8.self).split(separator: "\n").last ?? "\"\""
            request.header.set(Field(name: .ifNoneMatch, value: String(tag)))
        case "header": addField(text(option.value), to: &request)
        case "referer": request.header.set(Field(name: .referer, value: text(option.value)))
        case "range": request.header.set(Field(name: .range, value: "bytes=\(option.value)"))
        case "method": request.method = HTTPMethod(option.value)
        case "head": request.method = .head
        case "max-filesize":
            request.responseDecoder = ResponseDecoder(limit: Int(option.value) ?? 0) { _, data in data }
        case "upload": send(try content(option.value), as: .put, nil, in: &request)
        case "json":
            request.header.set(.accept(.json))
            send(Data(option.value.utf8), as: .post, .json, in: &request)
        case "data", "data-binary":
            let isFile = option.value.hasPrefix("@")
            let data = isFile ? try content(String(option.value.dropFirst())) : Data(text(option.value).utf8)
            let stripped = option.name == "data" && isFile ? data.filter { ![0x0A, 0x0D, 0].contains($0) } : data
            send(stripped, as: .post, MediaType("application/x-www-form-urlencoded"), in: &request)
        default: break
        }
    }

    private func addQuery(_ text: String, to request: inout Request<AnonymousRequestProvider, Data>) {
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            request.queryItems.add(pair[0], pair.count > 1 ? pair[1] : nil)
        }
    }

    private func authenticate(_ text: String, _ request: inout Request<AnonymousRequestProvider, Data>) {
        let pair = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        request.authenticationProvider = .basicAuth(username: pair[0], password: pair.count > 1 ? pair[1] : "")
    }

    /// The date is that of every case: the twelfth of December 1999, a Sunday, at some time; `-` turns it around.
    private func addCondition(_ text: String, to request: inout Request<AnonymousRequestProvider, Data>) {
        let time = text.split(separator: " ")[2]
        let name: Field.Name = text.hasPrefix("-") ? .ifUnmodifiedSince : .ifModifiedSince
        request.header.set(Field(name: name, value: "Sun, 12 Dec 1999 \(time) GMT"))
    }

    private func addField(_ line: String, to request: inout Request<AnonymousRequestProvider, Data>) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            return request.header.add(Field(name: Field.Name(line.replacing(";", with: "")), value: ""))
        }
        let value = parts[1].drop { $0 == " " }
        if !value.isEmpty { request.header.add(Field(name: Field.Name(String(parts[0])), value: String(value))) }
    }

    private func send(
        _ data: Data, as method: HTTPMethod, _ type: MediaType?,
        in request: inout Request<AnonymousRequestProvider, Data>
    ) {
        if request.method == .get { request.method = method }
        request.bodyProvider = BodyProvider { header in
            if let type, !header.contains(.contentType) { header.set(.contentType(type)) }
            return .bytes(data)
        }
    }
}
