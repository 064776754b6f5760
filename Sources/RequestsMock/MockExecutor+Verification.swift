import Requests

extension MockExecutor {
    /// Checks that a stub matched every request, and that every stub was called as expected.
    ///
    /// | the result of the stub | expected calls |
    /// |---|---|
    /// | one result, or a function | at least one |
    /// | one result, for requests that are not idempotent, such as POST | exactly one |
    /// | a sequence | exactly one for each result, or at least one for each if the last result is repeated |
    /// | a result with `onCall: n` | at least n |
    ///
    /// ``MockStub/expecting(calls:)`` replaces these rules, and ``MockStub/optional()`` removes the minimum. Requests
    /// that ``Unmatched`` intercepts or passes through are permitted. A test of Swift Testing or XCTest fails with the
    /// thrown error:
    ///
    /// ```swift
    /// try mock.verify()
    /// ```
    ///
    /// - Throws: ``VerificationError`` with a report on everything that differs.
    public func verify() throws(VerificationError) {
        var lines = stubs.stubs.flatMap(\.problems)
        if lines.count > 10 { lines = lines.prefix(10) + ["and \(lines.count - 10) more stubs"] }
        let misses = stubs.misses
        for report in misses.reports.prefix(5) {
            lines.append("unmatched request: \(report.request): \(report.summary)")
            lines.append(report.text)
        }
        if misses.count > 5 { lines.append("and \(misses.count - 5) more unmatched requests") }
        if !lines.isEmpty { throw VerificationError(description: lines.joined(separator: "\n")) }
    }

    /// Checks that `stubs` were called in this order.
    ///
    /// The first mention of a stub is its first call. A further mention is its next call after all calls that precede
    /// it in the list, so `verify(order: first, second, first)` requires that `first` was called again after `second`.
    /// Further calls are permitted. The calls need not be in ``recordedRequests``.
    ///
    /// - Throws: ``VerificationError`` with the order of the calls.
    public func verify(order stubs: MockStub...) throws(VerificationError) {
        let runs = callRuns
        var numbers: [Int?] = []
        var mentioned: Set<Int> = []
        for stub in stubs.map(\.stub.number) {
            let start = mentioned.insert(stub).inserted ? 0 : numbers.compactMap { $0.map { $0 + 1 } }.max() ?? 0
            let run = runs.first { $0.stub == stub && $0.numbers.upperBound > start }
            numbers.append(run.map { max($0.numbers.lowerBound, start) })
        }
        let called = numbers.compactMap(\.self)
        guard called.count < stubs.count || called != called.sorted() else { return }
        let lines = zip(stubs, numbers).map { stub, number in
            "\(number.map { "request \($0 + 1)" } ?? "never"): \(stub.stub.line { $0 })"
        }
        throw VerificationError(
            description: "expected calls in this order:\n" + lines.map { "  \($0)" }.joined(separator: "\n"))
    }

    /// The error of a mock whose expectations are not fulfilled.
    public struct VerificationError: Error, CustomStringConvertible {
        /// The report, without secrets: one line for each difference.
        public let description: String
    }

    /// Returns the endpoints of type `type` that were performed, oldest first, within the limits of ``Recording``.
    ///
    /// ```swift
    /// #expect(mock.endpoints(of: Users.self) == [.me, .named("octocat")])
    /// ```
    public func endpoints<E: Endpoint>(of type: E.Type) -> [E] {
        recordedRequests.compactMap { $0.endpoint(as: type) }
    }
}

extension PreparedRequest {
    /// Returns the JSON body decoded as `type` with the JSON decoder of the API.
    ///
    /// A ``MockExecutor`` records every body in memory.
    ///
    /// - Throws: ``/Requests/RequestError`` with the reason ``/Requests/RequestError/Reason/decodingFailed`` if the
    ///   body is not in memory or cannot be decoded.
    public func decodedBody<Value: Decodable>(as type: Value.Type = Value.self) throws(RequestError) -> Value {
        guard let data = body.bytesInMemory else {
            throw RequestError(.decodingFailed, detail: "the request body is not in memory", request: self)
        }
        let decoder = (api as? any RequestProviding)?.makeJSONDecoder() ?? JSONDecoder()
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw RequestError(.decodingFailed, underlying: error, request: self)
        }
    }
}

extension Stub {
    /// The differences between the expected calls of the stub and its actual calls, each in one line.
    fileprivate var problems: [String] {
        let (usage, line) = (usage, line { $0 })
        if case .calls(let count) = usage.expectation {
            return usage.calls == count ? [] : ["expected calls: \(count): \(line)"]
        }
        var problems: [String] = []
        if case .used = usage.expectation, usage.calls < resultCount {
            let reason = neverMatches.map { ": it never matches: \($0)" } ?? ""
            let isUnused = usage.calls == 0
            problems.append(
                isUnused ? "unused stub: \(line)\(reason)" : "unused results: expected \(resultCount) calls: \(line)")
        }
        if hasOneResult, usage.unrepeatableCalls > 1 {
            problems.append(
                "repeated request: one result permits one request that is not idempotent; use expecting(calls:) to "
                    + "expect more: \(line)")
        }
        if usage.isExhausted { problems.append("more calls than results: \(line)") }
        return problems
    }

    /// The reason why the stub cannot match any request; nil if it can, or if that is not known.
    private var neverMatches: String? {
        switch condition {
        case .pattern(_, _, .failure(let error)): RequestError.singleLine("the pattern is malformed: \(error)")
        case .endpoint(let matcher): matcher.problem.map { RequestError.singleLine("\($0)") }
        default: nil
        }
    }
}
