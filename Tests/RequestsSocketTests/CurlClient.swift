import Requests
import RequestsSocket
import TestCorpora

/// Does what a curl command says, as far as this library has the feature.
struct CurlClient {
    /// The needs that are met; what else a case needs leaves it out.
    static let metNeeds: Set = ["redirect", "redirect-limit", "upload", "range", "bearer", "json", "max-body-size"]

    /// The options that are understood; a case with any other is left out.
    static let metOptions: Set = [
        "header", "follow", "max-redirs", "data", "data-binary", "json", "method", "head", "upload", "range",
        "max-filesize", "referer",
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
    }

    /// What the value of an option asks for that is no matter of HTTP requests.
    private static func unmetValue(_ option: CurlOption) -> String? {
        let value = option.value.lowercased()
        switch option.name {
        case "upload" where !value.hasPrefix("@log") || value.contains("["):
            return "upload from standard input or globs"
        case "header" where value.hasPrefix("@"): return "fields from a file"
        case "header" where isOwned(value): return "framing fields by hand"
        case "header" where isMalformed(value): return "malformed fields"
        case "referer" where value.contains(";auto"): return "automatic Referer"
        default: return nil
        }
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
        for option in operation.options { try apply(option, to: &request) }
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
