@_spi(Lock) import Requests
import RequestsHTTP2
import RequestsPOSIX

/// The exchanges on an HTTP/2 connection and their shared state.
///
/// Each exchange sends and receives under the lock, which is possible because the socket never blocks. A report of the
/// socket resumes one of the calls that wait, which receives for all (decision 0082).
final class HTTP2Session: Sendable {
    private let state: Lock<HTTP2SessionState>

    init(_ limits: HTTP2Limits, beginningWith firstStream: StreamID) {
        state = Lock(HTTP2SessionState(limits, beginningWith: firstStream))
    }

    /// Whether the connection accepts further exchanges.
    var isUsable: Bool { access { $0.isUsable && !$0.frames.isInDoubt } }

    /// Runs `body` with exclusive access to the state and to the socket, then resumes the calls that have become ready.
    func access<Value: Sendable, Failure: Error>(
        _ body: (inout HTTP2SessionState) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var woken: [WakeEvent] = []
        defer { for event in woken { event.signal() } }
        return try state.withLock { (state) throws(Failure) -> Value in
            defer {
                state.checkTimekeeper()
                swap(&woken, &state.woken)
            }
            return try body(&state)
        }
    }
}
