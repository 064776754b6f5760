import Requests
import RequestsPOSIX

extension Transfer {
    /// Waits after the head until the server requests the body with 100 (Continue), or `time` has passed
    /// (RFC 9110 §10.1.1).
    ///
    /// Returns false if the final response arrives instead, or nothing more can arrive: then the body is not sent.
    mutating func isContinued(within time: Duration) async throws(RequestError) -> Bool {
        let limit = Deadline.after(time)
        while !hasContinued {
            let result: TransferResult
            do throws(SystemError) {
                result = try connection.fill(isHead: true)
            } catch {
                sendFailure = error
                return false
            }
            switch result {
            case .bytes(let count):
                if try readHead() { return false }
                recordWork(count)
                if isBudgetSpent { try await take(.yield) }
            case .end:
                try receiveEnd()
                return false
            case .wouldBlock:
                guard try await waitForResponse(until: limit) else { return true }
            }
        }
        return true
    }

    /// Waits for bytes; returns false if `limit` has passed.
    private mutating func waitForResponse(until limit: Deadline) async throws(RequestError) -> Bool {
        do throws(RequestError) {
            try await take(.wait(for: .reading, until: limit, in: .firstByte))
            return true
        } catch {
            guard error.reason == .timedOut(.firstByte) else { throw error }
            return false
        }
    }
}
