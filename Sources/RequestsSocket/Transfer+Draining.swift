import Requests
import RequestsPOSIX

// The body of a redirect that is followed: it is read only so that the connection can be used again.
extension Transfer {
    /// Reads as much of the body as `drain` says and returns it; a connection that has more to come is not used again.
    ///
    /// - Throws: What ends the call: its cancellation and its total limit. Nothing else matters.
    mutating func drain(_ drain: RedirectDrain, _ head: ResponseHead) async throws(RequestError) -> Data {
        guard canBeReused(within: drain.limit) else { return Data() }
        let end = Deadline.after(drain.timeout)
        var collection = try BodyCollection(of: self, drain.limit, head, isWhole: false)
        do throws(RequestError) {
            while let pause = try collection.receive(from: &self), !end.hasPassed {
                try await take(pause.ending(by: end))
            }
        } catch {
            if error.endsCall { throw error.adding(response: head, body: collection.take()) }
        }
        return collection.take()
    }

    /// The same, blocking the calling thread where that has to wait.
    mutating func drainInPlace(_ drain: RedirectDrain, _ head: ResponseHead) throws(RequestError) -> Data {
        guard canBeReused(within: drain.limit) else { return Data() }
        let end = Deadline.after(drain.timeout)
        var collection = try BodyCollection(of: self, drain.limit, head, isWhole: false)
        do throws(RequestError) {
            while let pause = try collection.receive(from: &self), !end.hasPassed {
                try takeInPlace(pause.ending(by: end))
            }
        } catch {
            if error.endsCall { throw error.adding(response: head, body: collection.take()) }
        }
        return collection.take()
    }
}

extension Pause {
    /// This pause, over by `end` at the latest.
    fileprivate func ending(by end: Deadline) -> Pause {
        guard case .wait(let wanted, let limit, let phase) = self else { return self }
        return .wait(for: wanted, until: limit.orEarlier(end), in: phase)
    }
}
