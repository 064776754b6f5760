import Requests

/// The results of a ``MockResult`` for each call, without the type of its resource.
indirect enum ResultScript: Sendable {
    case response(MockResponse)
    case make(MockExecutor.Handler)
    /// A function that makes a response without waiting, such as the encoder of a value.
    case encoded(@Sendable (PreparedRequest) throws -> MockResponse)
    case failure(RequestError)
    case sequence([ResultScript], repeatsLast: Bool)
    case delayed(MockResponse.Pause, ResultScript)
    case fault(MockExecutor.Fault, ResultScript)
    /// The first result in the call with this number, counted from 1, and the second in all others.
    case onCall(Int, ResultScript, ResultScript)
}

extension ResultScript {
    /// The error of a call for which a sequence has no result left.
    struct Exhausted: Error {}

    /// Returns the response in the call with the number `call`, counted from 1.
    ///
    /// - Throws: ``Exhausted``, the error of the result, or the error of a function.
    func response(to request: PreparedRequest, call: Int) async throws -> MockResponse {
        // A loop, because results can be nested to any depth.
        var (script, call) = (self, call)
        var wrappers: [Wrapper] = []
        while true {
            switch script {
            case .response(let response): return Self.applying(wrappers, to: response)
            case .make(let make): return Self.applying(wrappers, to: try await make(request))
            case .encoded(let make): return Self.applying(wrappers, to: try make(request))
            case .failure(let error): throw error
            case .sequence(let scripts, let repeatsLast):
                let next = scripts.indices.contains(call - 1) ? scripts[call - 1] : repeatsLast ? scripts.last : nil
                guard let next else { throw Exhausted() }
                script = next
                // A sequence within a sequence is used once for each turn of the outer one.
                call = 1
            case .delayed(let pause, let inner):
                wrappers.append(.delay(pause))
                script = inner
            case .fault(let fault, let inner):
                if let error = fault.error { throw error }
                wrappers.append(.fault(fault))
                script = inner
            case .onCall(let number, let replacement, let inner): script = call == number ? replacement : inner
            }
        }
    }

    /// Returns the response that is the same in every call; nil if there is none.
    func immediateResponse(to request: PreparedRequest) throws -> MockResponse? {
        switch self {
        case .response(let response): response
        case .encoded(let make): try make(request)
        default: nil
        }
    }

    /// The number of calls after which every result has been used.
    var resultCount: Int {
        var (script, count) = (self, 1)
        while true {
            switch script {
            case .response, .make, .encoded, .failure: return count
            case .sequence(let scripts, _): return max(count, scripts.count)
            case .delayed(_, let inner), .fault(_, let inner): script = inner
            case .onCall(let number, _, let inner): (script, count) = (inner, max(count, number))
            }
        }
    }

    /// Whether there is exactly one result: no sequence, no function, and no result for a certain call.
    var isOneResult: Bool {
        var script = self
        while true {
            switch script {
            case .response, .encoded, .failure: return true
            case .make, .sequence, .onCall: return false
            case .delayed(_, let inner), .fault(_, let inner): script = inner
            }
        }
    }

    private enum Wrapper {
        case delay(MockResponse.Pause)
        case fault(MockExecutor.Fault)
    }

    private static func applying(_ wrappers: [Wrapper], to response: MockResponse) -> MockResponse {
        var response = response
        for wrapper in wrappers.reversed() {
            switch wrapper {
            case .delay(let pause): response.delay = pause
            case .fault(let fault): fault.apply(to: &response)
            }
        }
        return response
    }
}

extension MockExecutor.Fault {
    /// The error that a fault causes without a response; nil for other faults.
    fileprivate var error: RequestError? {
        switch self {
        case .refuse: RequestError(.connectionFailed, detail: "refused by a mock").beforeSending()
        case .garbage: RequestError(.protocolViolation, detail: "the mock sent bytes that are not HTTP")
        default: nil
        }
    }

    /// Changes `response` so that it arrives with this fault.
    fileprivate func apply(to response: inout MockResponse) {
        switch self {
        case .refuse, .garbage: break
        case .stall: response.delay = .endless
        case .cut(let count): response.maximumBytes = max(0, count)
        case .drip(let count, let pause): response.pace = MockResponse.Pace(bytes: max(1, count), pause: pause)
        }
    }
}
