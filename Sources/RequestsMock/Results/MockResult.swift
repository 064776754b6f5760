@_spi(Lock) import Requests

/// The result of a stub: a value, a response, an error, a fault, or a sequence of them.
///
/// ```swift
/// mock.on(Users.me, return: User(login: "octocat"))
/// mock.on(Users.me, respond: .status(404))
/// mock.on(Users.me, respond: .sequence(.status(503), .value(octocat)))
/// ```
///
/// Everything except an error passes through the whole call: middleware, validation and decoding.
public struct MockResult<Resource>: Sendable {
    let script: ResultScript

    init(_ script: ResultScript) {
        self.script = script
    }

    /// Returns `response`.
    public static func response(_ response: MockResponse) -> MockResult {
        MockResult(.response(response))
    }

    /// Returns a response with `text` in UTF-8 and with `header`.
    ///
    /// If the text is empty, the response has no body and no Content-Type of its own.
    ///
    /// A Content-Type in `header` replaces `contentType`.
    public static func status(
        _ status: HTTPStatus, _ text: String = "", contentType: MediaType = .plainText, header: Header = .empty
    ) -> MockResult {
        .response(.status(status, text, contentType: contentType, header: header))
    }

    /// Returns a response with the JSON text `json`, which is sent as it is, even if it is malformed.
    public static func json(_ json: String, status: HTTPStatus = 200) -> MockResult {
        .response(.data(Data(json.utf8), contentType: .json, status: status))
    }

    /// Returns a response with `text` in UTF-8 as `text/plain; charset=utf-8`.
    public static func text(_ text: String, status: HTTPStatus = 200) -> MockResult {
        .response(.data(Data(text.utf8), contentType: .utf8Text, status: status))
    }

    /// Returns a response with the bytes of `data`.
    public static func data(
        _ data: Data, contentType: MediaType = .binary, status: HTTPStatus = 200
    ) -> MockResult {
        .response(.data(data, contentType: contentType, status: status))
    }

    /// Returns a response with the bytes of the file at `url`, which is read for each call.
    ///
    /// - Parameters:
    ///   - url: The URL of the file. If it cannot be read, the call fails with
    ///     ``/Requests/RequestError/Reason/fileAccessFailed``.
    ///   - contentType: The content type; nil for the type of the filename extension.
    ///   - status: The status.
    /// - Returns: The result.
    public static func file(_ url: URL, contentType: MediaType? = nil, status: HTTPStatus = 200) -> MockResult {
        MockResult(
            .encoded { _ in
                let data = try RequestError.wrapping(.fileAccessFailed) { try Data(contentsOf: url) }
                let type = contentType ?? MediaType(filename: url.lastPathComponent)
                return .data(data, contentType: type, status: status)
            })
    }

    /// Returns a result that `make` creates for each request; its error ends the exchange.
    public static func make(_ make: @escaping MockExecutor.Handler) -> MockResult {
        MockResult(.make(make))
    }

    /// Returns a failure of the exchange with `error`.
    public static func failure(_ error: RequestError) -> MockResult {
        MockResult(.failure(error))
    }

    /// Returns a failure of the exchange for `reason`.
    public static func failure(_ reason: RequestError.Reason) -> MockResult {
        .failure(RequestError(reason, detail: "simulated by a mock"))
    }

    /// Returns one result for each call of the stub, in order.
    ///
    /// After the last, a call fails with a report. With ``MockExecutor/Unmatched/intercepting``, it receives a 500 with
    /// the text `Mock sequence exhausted` instead.
    ///
    /// - Parameters:
    ///   - results: The results.
    ///   - repeatsLastResponse: Whether the last result is used for all further calls.
    /// - Returns: The sequence.
    public static func sequence(_ results: MockResult..., repeatsLastResponse: Bool = false) -> MockResult {
        sequence(results, repeatsLastResponse: repeatsLastResponse)
    }

    /// Returns one result for each call of the stub, in order, from an array.
    public static func sequence(_ results: [MockResult], repeatsLastResponse: Bool = false) -> MockResult {
        MockResult(.sequence(results.map(\.script), repeatsLast: repeatsLastResponse))
    }
}

extension MockResult where Resource: Encodable & Sendable {
    /// Returns a 200 response from which the decoder of the endpoint decodes `value`.
    ///
    /// If the decoder reads JSON, the value is encoded once, with the JSON encoder of the API. Otherwise a `String` or
    /// a `Data` is sent unchanged, and the call fails for a value of any other type; use
    /// ``data(_:contentType:status:)`` there.
    public static func value(_ value: Resource) -> MockResult {
        let encoded = EncodedValue(value)
        return MockResult(.encoded { request in try encoded.response(to: request) })
    }
}

extension MockResult {
    /// Returns this result with its response delayed by `duration` on the clock of the mock.
    ///
    /// The time limits of the request and cancellation end the delay as they end a real wait. In a sequence, every
    /// response is delayed.
    public func delayed(by duration: Duration) -> MockResult {
        MockResult(.delayed(.lasting(duration), script))
    }

    /// Returns this result, with `error` instead of it in the call with the number `call` of the stub, counted from 1.
    public func failing(with error: RequestError, onCall call: Int) -> MockResult {
        MockResult(.onCall(call, .failure(error), script))
    }

    /// Returns this result with `fault` in every call.
    public func with(fault: MockExecutor.Fault) -> MockResult {
        MockResult(.fault(fault, script))
    }

    /// Returns this result with `fault` in the call with the number `call` of the stub, counted from 1.
    public func with(fault: MockExecutor.Fault, onCall call: Int) -> MockResult {
        MockResult(.onCall(call, .fault(fault, script), script))
    }

    /// Returns a result with `fault`; where the fault needs a response, it has 26 bytes.
    public static func fault(_ fault: MockExecutor.Fault) -> MockResult {
        MockResult(.fault(fault, .response(.ok("abcdefghijklmnopqrstuvwxyz"))))
    }
}

extension MockExecutor {
    /// A failure of a connection, simulated in memory.
    @nonexhaustive
    public enum Fault: Hashable, Sendable {
        /// The connection is refused; nothing is sent.
        case refuse
        /// The connection is lost after this number of bytes of the body; negative numbers count as 0.
        case cut(afterBytes: Int)
        /// The response is not HTTP.
        case garbage
        /// The response never arrives, so a time limit or cancellation ends the call.
        case stall
        /// The body arrives in chunks of this number of bytes, at least 1, with this time between them.
        case drip(bytes: Int, every: Duration)
    }
}

extension MediaType {
    /// `text/plain; charset=utf-8`.
    static var utf8Text: MediaType { "text/plain; charset=utf-8" }
}

/// A value with its encoded form, which is created for the first call.
private final class EncodedValue<Value: Encodable & Sendable>: Sendable {
    private let value: Value
    private let response = Lock<MockResponse?>(nil)

    init(_ value: Value) {
        self.value = value
    }

    func response(to request: PreparedRequest) throws -> MockResponse {
        if let response = response.withLock({ $0 }) { return response }
        let made = try made(for: request)
        response.withLock { $0 = made }
        return made
    }

    private func made(for request: PreparedRequest) throws -> MockResponse {
        if let type = request.acceptedTypes.first(where: { MediaType.json.reads($0) }) {
            // The API's encoder is not in the interface of an executor, so the request carries the API.
            let encoder = (request.api as? any RequestProviding)?.makeJSONEncoder()
            let data = try (encoder ?? BodyProvider.makeDeterministicEncoder()).encode(value)
            return .data(data, contentType: type)
        }
        if let text = value as? String {
            return .data(Data(text.utf8), contentType: request.acceptedTypes.first ?? .utf8Text)
        }
        if let data = value as? Data { return .data(data, contentType: request.acceptedTypes.first ?? .binary) }
        let types = request.acceptedTypes.map { "\($0)" }.joined(separator: ", ")
        throw RequestError(
            .other,
            detail: "the mock cannot encode \(Value.self) for a decoder that does not read JSON (it reads "
                + "\(types.isEmpty ? "any type" : types)); respond with data(_:contentType:) instead"
        ).permanent()
    }
}
