import Requests
import Testing

/// An executor that responds from a function, without a network.
struct StubExecutor: RequestExecutor {
    let respond: @Sendable (PreparedRequest) throws(RequestError) -> RawResponse

    init(_ respond: @escaping @Sendable (PreparedRequest) throws(RequestError) -> RawResponse) {
        self.respond = respond
    }

    /// Creates an executor that responds to every request with the same status, header and body.
    init(_ status: HTTPStatus = 200, header: Header = .empty, _ body: String = "") {
        self.init { request in .stub(status, header: header, body, to: request) }
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try respond(request)
    }
}

extension RawResponse {
    static func stub(
        _ status: HTTPStatus, header: Header = .empty, _ body: String = "", to request: PreparedRequest
    ) -> RawResponse {
        RawResponse(
            head: ResponseHead(status: status, header: header, target: request.target), body: .bytes(Data(body.utf8)))
    }
}

extension AnonymousRequestProvider {
    static let example = AnonymousRequestProvider("https://e.com/api")

    init(text: String) throws {
        self.init(baseURL: try #require(URL(string: text)))
    }
}

extension RequestConvertible {
    /// Returns the URL that this request would be sent to.
    func preparedURL() throws -> String { try prepared().target.absoluteString }
}

/// Returns all descriptions of a value and its dump.
func everyText<Value>(of value: Value) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return ["\(value)", String(describing: value), String(reflecting: value), dumped, dumped.debugDescription]
}

/// Expects that `body` throws the error of an invalid request with `problem`.
func expectInvalid<Value>(
    _ problem: RequestError.InvalidRequest, _ label: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value
) {
    let error = #expect(throws: RequestError.self, "\(label)", sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.reason == .invalidRequest(problem), "\(label)", sourceLocation: sourceLocation)
    #expect(error?.mayHaveReachedServer != true, "\(label)", sourceLocation: sourceLocation)
}

/// Expects that `body` throws the error of a file that cannot be read, before anything is sent.
func expectUnreadable<Value>(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Value) {
    let error = #expect(throws: RequestError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.reason == .fileAccessFailed, sourceLocation: sourceLocation)
    #expect(error?.mayHaveReachedServer != true, sourceLocation: sourceLocation)
}
