/// The course of one call, as a value: which request to execute next, and what the call ends with.
///
/// It performs nothing itself, so redirects, limits and deadlines are tested as tables.
package struct Perform {
    /// What is to be done next.
    package enum Step {
        /// Execute ``Perform/request``, which is another one now, and tell ``Perform/receive(_:)`` the response.
        case execute
        /// The call ends with the response received.
        case finish
    }

    /// The heads of the responses that were redirects, in order.
    package private(set) var history: [ResponseHead] = []

    /// How many requests have been handed out.
    package private(set) var attempts = 1

    /// The request that is being executed.
    package private(set) var request: PreparedRequest

    /// The course of a call for `request` that begins at `now`: a total limit becomes a deadline here, once.
    package init(_ request: PreparedRequest, now: @autoclosure () -> ContinuousClock.Instant) {
        self.request = request
        guard let total = request.timeouts.total else { return }
        let limit = now() + total
        self.request.deadline = min(request.deadline ?? limit, limit)
    }

    /// What follows `response`.
    ///
    /// - Throws: ``RequestError`` when a redirect is refused, with the response that asked for it.
    package mutating func receive(_ response: RawResponse) throws(RequestError) -> Step {
        // What the policy would say first, without having it copied for the many that are no redirects.
        guard response.head.status.isFollowable else { return .finish }
        let next: PreparedRequest?
        do {
            next = try request.redirects.request(following: request, after: response.head)
        } catch {
            throw error.adding(request: request, body: response.collectedBody, attempts: attempts)
        }
        guard let next else { return .finish }
        guard history.count < request.redirects.limit else {
            throw RequestError(
                .unexpectedRedirect, detail: "more than \(request.redirects.limit) redirects", request: request,
                response: response.head, body: response.collectedBody
            ).adding(attempts: attempts)
        }
        history.append(response.head)
        attempts += 1
        request = next
        return .execute
    }

    /// Goes on after a failure that does not matter: it is a redirect whose body, which nobody wants, was over the limit.
    ///
    /// - Throws: `error` with the request, or what ``receive(_:)-(RawResponse)`` throws.
    package mutating func receive(_ error: RequestError) throws(RequestError) {
        let error = error.adding(request: request, attempts: attempts)
        guard case .tooLarge = error.reason, let head = error.response else { throw error }
        let response = RawResponse(head: head, body: .bytes(error.body ?? Data()))
        guard try receive(response) == .execute else { throw error }
    }
}

extension RawResponse {
    /// The body, when it is already in memory.
    var collectedBody: Data? {
        if case .bytes(let data) = body { data } else { nil }
    }
}
