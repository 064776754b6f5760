@_spi(Lock) import Requests

/// Responses that several stubs share, each used once, in order.
protocol StubSupply: Sendable {
    /// The position of the next response in that order; nil if none remains.
    var nextPosition: Int? { get }

    /// Reserves a response for the next call; returns false if none remains.
    func reserve() -> Bool
}

/// A stub of a mock: a condition, a result, where it was written, and its calls.
final class Stub: Sendable {
    enum Condition: Sendable {
        case endpoint(EndpointMatcher)
        case endpointType(ObjectIdentifier, name: String)
        case pattern(HTTPMethod?, text: String, Result<StubPattern, StubPattern.SyntaxError>)
        case predicate(@Sendable (PreparedRequest) -> Bool)
    }

    enum Reaction: Sendable {
        case script(ResultScript)
        case handler(@Sendable (PreparedRequest, [String: String]) async throws -> MockResponse)
        case endpointHandler(@Sendable (PreparedRequest) async throws -> ResultScript)
    }

    /// The place in the source where a stub was written.
    struct Location: Sendable, CustomStringConvertible {
        let fileID: StaticString
        let line: UInt

        var description: String { "\(fileID):\(line)" }
    }

    enum Expectation: Sendable {
        case used
        case optional
        case calls(Int)
    }

    struct Usage: Sendable {
        var calls = 0
        /// The number of calls with requests that are not idempotent, such as POST.
        var unrepeatableCalls = 0
        /// Whether a call found no further result in the stub's sequence.
        var isExhausted = false
        var expectation = Expectation.used
    }

    /// The number of the stub, greater than the numbers of earlier stubs.
    let number: Int
    let condition: Condition
    let location: Location
    /// The responses of the stub, if other stubs with overlapping patterns can respond in its place; nil otherwise.
    let supply: (any StubSupply)?
    private let reaction: Reaction
    private let state = Lock(Usage())

    init(
        _ number: Int, _ condition: Condition, _ reaction: Reaction, _ location: Location, _ supply: (any StubSupply)?
    ) {
        self.number = number
        self.condition = condition
        self.reaction = reaction
        self.location = location
        self.supply = supply
    }

    /// Returns whether the stub responds to the request.
    ///
    /// - Throws: ``UnreadBody`` if a body must be read first.
    func matches(_ candidate: MatchContext) throws(UnreadBody) -> Bool {
        let request = candidate.request
        return switch condition {
        case .endpoint(let matcher): try matcher.matches(candidate)
        case .endpointType(let type, _):
            // A redirect keeps the endpoint, but its response is for another resource.
            request.redirectedFrom == nil && request.endpointType.map { ObjectIdentifier($0) } == type
        case .pattern(let method, _, .success(let pattern)):
            (method.map { ASCIIFolding.areEqual($0.rawValue, request.method.rawValue) } ?? true)
                && pattern.matchesOriginAndQuery(of: candidate.target)
        case .pattern(_, _, .failure): false
        case .predicate(let isMatch): isMatch(request)
        }
    }

    /// Counts a call with `request` and returns its number, counted from 1.
    func beginCall(for request: PreparedRequest) -> Int {
        let isIdempotent = request.isIdempotent
        return state.withLock { usage in
            usage.calls += 1
            if !isIdempotent { usage.unrepeatableCalls += 1 }
            return usage.calls
        }
    }

    var usage: Usage { state.withLock { $0 } }

    func update(_ change: (inout Usage) -> Void) {
        state.withLock { change(&$0) }
    }

    /// The number of calls after which every result of the stub has been used.
    var resultCount: Int { if case .script(let script) = reaction { script.resultCount } else { 1 } }

    /// Whether the stub has one result, and neither a sequence nor a function.
    var hasOneResult: Bool { if case .script(let script) = reaction { script.isOneResult } else { false } }

    /// Returns the response that is the same in every call; nil if there is none.
    func immediateResponse(to request: PreparedRequest) throws -> MockResponse? {
        guard case .script(let script) = reaction else { return nil }
        return try script.immediateResponse(to: request)
    }

    func response(to request: PreparedRequest, call: Int) async throws -> MockResponse {
        switch reaction {
        case .script(let script): return try await script.response(to: request, call: call)
        case .handler(let handler): return try await handler(request, parameters(of: request))
        case .endpointHandler(let handler):
            return try await handler(request).response(to: request, call: call)
        }
    }

    private func parameters(of request: PreparedRequest) -> [String: String] {
        guard case .pattern(_, _, .success(let pattern)) = condition,
            let components = pattern.comparedComponents(of: ReceivedTarget(request))
        else { return [:] }
        return pattern.parameters(in: components)
    }
}
