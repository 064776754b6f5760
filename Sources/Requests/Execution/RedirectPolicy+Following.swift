extension RedirectPolicy {
    /// The request that follows `request` after `response`, or nil when the response is the answer.
    ///
    /// Methods are rewritten as browsers and RFC 9110 §15.4 have it: 303 becomes GET, 301 and 302 turn POST into GET
    /// unless it is kept, 307 and 308 keep method and body. Secrets stay behind when scheme, host, port or zone changes,
    /// and the defaults of an environment are those of the new target.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/unexpectedRedirect`` for a target that is refused, or
    ///   ``RequestError/Reason/bodyNotReplayable``.
    package func request(following request: PreparedRequest, after response: ResponseHead) throws(RequestError)
        -> PreparedRequest?
    {
        guard let target = try target(following: request, after: response) else { return nil }
        let isLeaving = !target.hasSameOrigin(as: request.target)
        var next = request.parts
        next.target = target
        next.redirection = Redirection(
            from: request.target, hasLeftOrigin: isLeaving || request.hasLeftOrigin, count: request.redirectCount + 1)
        if turnsIntoGet(request.method, after: response.status) {
            next.method = .get
            next.body = .none
            if request.trailers != nil { next.handling.attributes.trailers = nil }
            next.header.removeAll { $0.name.describesContent }
        }
        try next.moveDefaults(isLeavingOrigin: isLeaving)
        var following = request
        following.parts = next
        return following
    }

    /// Returns the target of the redirect `response`, or nil when it is not a redirect to follow.
    ///
    /// - Throws: The same as ``request(following:after:)``.
    private func target(
        following request: PreparedRequest, after response: ResponseHead
    ) throws(RequestError) -> TargetURI? {
        guard limit > 0, response.status.isFollowable else { return nil }
        guard let location = try Self.location(of: response) else { return nil }
        let target = try resolve(location, against: request.target, response: response)
        guard request.body.isReplayable || turnsIntoGet(request.method, after: response.status) else {
            throw RequestError(.bodyNotReplayable, detail: "redirected to \(target)", response: response)
        }
        return target
    }

    /// Returns whether `response` is a redirect of `request` that is followed.
    fileprivate func follows(_ request: PreparedRequest, after response: ResponseHead) -> Bool {
        guard request.redirectCount < limit else { return false }
        return (try? target(following: request, after: response)) != nil
    }

    /// The Location field; two that differ are refused, an empty one is none.
    private static func location(of response: ResponseHead) throws(RequestError) -> String? {
        guard let index = response.header.firstIndex(of: .location), !response.header[index].value.isEmpty else {
            return nil
        }
        let first = response.header[index]
        guard response.header.values(of: .location).allSatisfy({ $0 == first.value }) else {
            throw RequestError(.unexpectedRedirect, detail: "two different Location fields", response: response)
        }
        return first.valueBytes.reduce(into: "") { text, byte in
            if byte < 0x80 {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    private func turnsIntoGet(_ method: HTTPMethod, after status: HTTPStatus) -> Bool {
        switch status.code {
        case 303: method != .head && method != .get
        case 301, 302: method == .post && !keepsMethod
        default: false
        }
    }

    private func resolve(
        _ location: String, against base: TargetURI, response: ResponseHead
    ) throws(RequestError) -> TargetURI {
        let target: TargetURI
        do {
            target = try base.resolving(location)
        } catch {
            throw RequestError(.unexpectedRedirect, detail: "to a malformed Location", response: response)
        }
        guard target.scheme == "http" || target.scheme == "https" else {
            throw RequestError(.unexpectedRedirect, detail: "to the scheme “\(target.scheme)”", response: response)
        }
        if let problem = target.problem {
            throw RequestError(.unexpectedRedirect, detail: "to \(target): \(problem)", response: response)
        }
        guard allowsDowngrade || target.scheme == "https" || base.scheme != "https" else {
            throw RequestError(.unexpectedRedirect, detail: "from https to \(target)", response: response)
        }
        return target
    }
}

/// How much of the body of a followed redirect is read.
package struct RedirectDrain: Sendable {
    /// In bytes; at least 0.
    package let limit: Int
    /// The time it may take in all.
    package let timeout: Duration
}

extension RequestError {
    /// Whether this ends a call even while the body of a redirect is read: its cancellation, or its total limit.
    package var endsCall: Bool { isCancellation || reason == .timedOut(.total) }
}

extension PreparedRequest {
    /// Returns how much of the body of the response `head` is read, when the call that performs this request follows it
    /// as a redirect; nil when the body counts.
    ///
    /// What becomes of such a body does not decide over the call: an executor returns the response with what it has read,
    /// and closes the connection unless that was all.
    package func drain(of head: ResponseHead) -> RedirectDrain? {
        // Nearly every response ends here.
        guard head.status.isFollowable, isPartOfCall, follows(head) else { return nil }
        return RedirectDrain(limit: max(0, redirects.drainLimit), timeout: redirects.drainTimeout)
    }

    /// Returns whether the request's policy follows the response `head` as a redirect.
    package func follows(_ head: ResponseHead) -> Bool {
        redirects.follows(self, after: head)
    }
}

extension HTTPStatus {
    /// Whether a Location is followed (RFC 9110 §15.4.2, .3, .4, .8, .9).
    var isFollowable: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}

extension Field.Name {
    /// Whether the field describes the body of a request, and so goes with it.
    fileprivate var describesContent: Bool {
        canonicalName.hasBytePrefix("content-")
    }
}
