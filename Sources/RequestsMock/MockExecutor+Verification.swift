import Requests

extension MockExecutor {
    /// Checks that a stub matched every request, and that every stub was called as expected.
    ///
    /// Each stub must have been called at least once, or as ``MockStub/expecting(calls:)`` and ``MockStub/optional()``
    /// specify. Requests that ``Unmatched`` intercepts or passes through are permitted. A test of Swift Testing or
    /// XCTest fails with the thrown error:
    ///
    /// ```swift
    /// try mock.verify()
    /// ```
    ///
    /// - Throws: ``VerificationError`` with a report on everything that differs.
    public func verify() throws(VerificationError) {
        let keep = { (text: String) in text }
        var lines: [String] = []
        for stub in stubs.stubs {
            let usage = stub.usage
            let line = stub.line(keep)
            switch usage.expectation {
            case .used where usage.calls == 0: lines.append("unused stub: \(line)")
            case .calls(let count) where usage.calls != count: lines.append("expected calls: \(count): \(line)")
            default: break
            }
        }
        if lines.count > 10 { lines = lines.prefix(10) + ["and \(lines.count - 10) more stubs"] }
        let misses = stubs.misses
        for report in misses.reports.prefix(5) {
            lines.append("unmatched request: \(report.request): \(report.summary)")
            lines.append(report.text)
        }
        if misses.count > 5 { lines.append("and \(misses.count - 5) more unmatched requests") }
        if !lines.isEmpty { throw VerificationError(description: lines.joined(separator: "\n")) }
    }

    /// Checks that each of `stubs` was called, and that their first calls were in this order.
    ///
    /// The calls need not be in ``recordedRequests``.
    ///
    /// - Throws: ``VerificationError`` with the order of the calls.
    public func verify(order stubs: MockStub...) throws(VerificationError) {
        let positions = firstCalls(of: stubs)
        let called = positions.compactMap(\.self)
        guard called.count < stubs.count || called != called.sorted() else { return }
        let keep = { (text: String) in text }
        let lines = zip(stubs, positions).map { stub, position in
            let text = position.map { "request \($0 + 1)" } ?? "never"
            return "\(text): \(stub.stub.line(keep))"
        }
        throw VerificationError(
            description: "expected first calls in this order:\n" + lines.map { "  \($0)" }.joined(separator: "\n"))
    }

    /// The error of a mock whose expectations are not fulfilled.
    public struct VerificationError: Error, CustomStringConvertible {
        /// The report, without secrets: one line for each difference.
        public let description: String
    }

    /// The endpoints of type `type` that were performed, oldest first, within the limits of ``Recording``.
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
