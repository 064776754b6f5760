import Requests
import RequestsPOSIX

// The body of a redirect that is followed is read only so that the connection can be reused (decision 0021).
extension Transfer {
    /// Reads as much of the body as `drain` allows and returns it; a connection with more to come is not reused.
    ///
    /// - Throws: Only what ends the call: its cancellation and its total limit.
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

    /// Drains the body like `drain`, blocking the calling thread for each wait.
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
    /// Returns this pause, ending at `end` at the latest.
    fileprivate func ending(by end: Deadline) -> Pause {
        guard case .wait(let wanted, let limit, let phase) = self else { return self }
        return .wait(for: wanted, until: limit.orEarlier(end), in: phase)
    }
}
