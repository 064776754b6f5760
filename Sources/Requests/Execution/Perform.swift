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

    /// The targets of the redirects that came as HTTP/1.0.
    private var oldServers: [TargetURI] = []

    /// The request that is being executed.
    package private(set) var request: PreparedRequest

    /// The course of a call for `request` that begins at `now`: a total limit becomes a deadline here, once.
    package init(_ request: PreparedRequest, now: @autoclosure () -> ContinuousClock.Instant) {
        self.request = request
        // The box of the request is this call's own; not a copy of it for the many that are not redirected.
        request.isPartOfCall = true
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
        if response.metrics.isHTTP10 { oldServers.append(request.target) }
        var next: PreparedRequest
        do {
            guard let following = try request.redirects.request(following: request, after: response.head) else {
                return .finish
            }
            next = following
            if oldServers.contains(where: { $0.hasSameOrigin(as: next.target) }) { try next.avoidChunks() }
        } catch {
            throw error.adding(
                request: request, response: response.head, body: response.collectedBody, attempts: attempts)
        }
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

    /// Gives the body of a redirected request a length where the server needs one.
    mutating func collectBodyIfNeeded() async throws(RequestError) {
        do throws(RequestError) {
            try await request.collectBodyIfNeeded()
        } catch {
            throw error.adding(attempts: attempts)
        }
    }

    /// Continues after a failure that does not decide over the call: the body of a redirect that is followed.
    ///
    /// Our executors read such a body by ``PreparedRequest/drain(of:)`` and do not fail; this is for all others.
    ///
    /// - Throws: `error` with the request, or what ``receive(_:)-(RawResponse)`` throws.
    package mutating func receive(_ error: RequestError) throws(RequestError) {
        let error = error.adding(request: request, attempts: attempts)
        guard error.isOfBody, let head = error.response, request.drain(of: head) != nil else { throw error }
        let response = RawResponse(head: head, body: .bytes(error.body ?? Data()))
        guard try receive(response) == .execute else { throw error }
    }
}

extension RequestError {
    /// Whether the error is what an executor reports when the body of a response fails.
    ///
    /// Middleware that refuses a response does so with other reasons, and cancellation and the total limit end the call.
    fileprivate var isOfBody: Bool {
        switch reason {
        case .connectionLost, .protocolViolation, .tooLarge, .timedOut(.betweenBytes): true
        default: false
        }
    }
}

extension PreparedRequest {
    /// Has a body of unknown length collected before it is sent, because HTTP/1.0 has no chunks (RFC 9112 §6.1).
    ///
    /// - Throws: ``RequestError`` when the request has trailers, which are sent in chunks only.
    fileprivate mutating func avoidChunks() throws(RequestError) {
        guard !body.isNone else { return }
        guard trailers == nil else {
            throw RequestError(
                .invalidRequest(.trailersNotSupported), detail: "the server speaks HTTP/1.0 (RFC 9112 §6.1)")
        }
        guard body.knownLength == nil else { return }
        var options = options
        options.requiresContentLength = true
        attributes[RequestOptions.self] = options
    }
}

extension RawResponse {
    /// The body, when it is already in memory.
    var collectedBody: Data? {
        if case .bytes(let data) = body { data } else { nil }
    }
}
