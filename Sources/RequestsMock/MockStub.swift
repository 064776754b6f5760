import Requests

/// A stub that was added to a mock: its calls, and its removal.
public struct MockStub: Sendable {
    let stub: Stub
    private let mock: MockExecutor

    init(_ stub: Stub, of mock: MockExecutor) {
        self.stub = stub
        self.mock = mock
    }

    /// The number of requests to which the stub responded, failures included.
    public var callCount: Int { stub.usage.calls }

    /// The requests to which the stub responded, oldest first, within the limits of ``MockExecutor/Recording``.
    public var requests: [PreparedRequest] { mock.requests(of: stub) }

    /// Removes the stub from its mock; has no effect if it has been removed.
    public func remove() { mock.stubs.remove(stub) }

    /// Sets the number of calls that ``MockExecutor/verify()`` requires for any results, and returns the stub.
    @discardableResult
    public func expecting(calls: Int) -> MockStub {
        stub.update { $0.expectation = .calls(calls) }
        return self
    }

    /// Makes ``MockExecutor/verify()`` accept that the stub is never called, or that results remain, and returns the
    /// stub.
    ///
    /// More calls than the results permit are not accepted.
    @discardableResult
    public func optional() -> MockStub {
        stub.update { $0.expectation = .optional }
        return self
    }
}
