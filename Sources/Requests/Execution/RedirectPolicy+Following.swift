extension RedirectPolicy {
    /// Returns the request that follows `request` after `response`; nil if the call ends with `response`.
    ///
    /// Methods change as in browsers and RFC 9110 §15.4: 303 results in GET; 301 and 302 change POST to GET unless
    /// ``preservesMethod`` is set; 307 and 308 keep the method and the body. Secrets are removed when the scheme, host,
    /// port or IPv6 zone changes, and the defaults of an environment are those for the new target (decision 0020).
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
        if changesMethodToGet(request.method, after: response.status) {
            next.method = .get
            next.body = .none
            if request.trailers != nil { next.settings.attributes.trailers = nil }
            next.header.removeAll { $0.name.describesContent }
        }
        try next.moveDefaults(isLeavingOrigin: isLeaving)
        var following = request
        following.parts = next
        return following
    }

    /// Returns the target of the redirect `response`; nil if it is not a redirect to follow.
    ///
    /// - Throws: The same as ``request(following:after:)``.
    private func target(
        following request: PreparedRequest, after response: ResponseHead
    ) throws(RequestError) -> TargetURI? {
        guard limit > 0, response.status.isFollowable else { return nil }
        guard let location = try Self.location(of: response) else { return nil }
        let target = try resolve(location, against: request.target, response: response)
        guard request.body.isReplayable || changesMethodToGet(request.method, after: response.status) else {
            throw RequestError(.bodyNotReplayable, detail: "redirect to \(target)", response: response)
        }
        return target
    }

    /// Returns whether `response` is a redirect that is followed.
    fileprivate func follows(_ request: PreparedRequest, after response: ResponseHead) -> Bool {
        guard request.redirectCount < limit else { return false }
        return (try? target(following: request, after: response)) != nil
    }

    /// Returns the Location field; nil if it is missing or empty.
    ///
    /// Two different fields are an error.
    private static func location(of response: ResponseHead) throws(RequestError) -> String? {
        guard let index = response.header.firstIndex(of: .location), !response.header[index].value.isEmpty else {
            return nil
        }
        let first = response.header[index]
        guard response.header.values(of: .location).allSatisfy({ $0 == first.value }) else {
            throw RequestError(.unexpectedRedirect, detail: "two different Location fields", response: response)
        }
        // A URI is ASCII; servers that send other bytes mean them percent-encoded.
        return first.valueBytes.reduce(into: "") { text, byte in
            if byte < 0x80 {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// Returns whether a redirect with `status` changes `method` to GET and removes the body (RFC 9110 §15.4).
    private func changesMethodToGet(_ method: HTTPMethod, after status: HTTPStatus) -> Bool {
        switch status.code {
        case 303: method != .head && method != .get
        case 301, 302: method == .post && !preservesMethod
        default: false
        }
    }

    /// Returns the target for `location`, resolved relative to `base`.
    ///
    /// - Throws: ``RequestError/Reason/unexpectedRedirect`` for a target that must not be followed.
    private func resolve(
        _ location: String, against base: TargetURI, response: ResponseHead
    ) throws(RequestError) -> TargetURI {
        let target: TargetURI
        do {
            target = try base.resolving(location)
        } catch {
            throw RequestError(.unexpectedRedirect, detail: "malformed Location", response: response)
        }
        guard target.isHTTP || target.isHTTPS else {
            throw RequestError(.unexpectedRedirect, detail: "unsupported scheme “\(target.scheme)”", response: response)
        }
        if let problem = target.problem {
            throw RequestError(.unexpectedRedirect, detail: "\(target): \(problem)", response: response)
        }
        guard allowsDowngrade || target.isHTTPS || !base.isHTTPS else {
            throw RequestError(
                .unexpectedRedirect, detail: "https to \(target); see RedirectPolicy.allowsDowngrade",
                response: response)
        }
        return target
    }
}

/// The limits for reading the body of a redirect that is followed.
package struct RedirectDrain: Sendable {
    /// The maximum number of bytes to read; at least 0.
    package let limit: Int
    /// The time limit for reading the body.
    package let timeout: Duration
}

extension RequestError {
    /// Whether the error ends a call even while the body of a redirect is read: a cancellation, or the total limit.
    package var endsCall: Bool { isCancellation || reason == .timedOut(.total) }
}

extension PreparedRequest {
    /// Returns the limits for reading the body of `head` if the call will follow it as a redirect; nil if the body is
    /// needed.
    ///
    /// A failure of such a body does not fail the call: the executor returns the response with the bytes that it has
    /// read, and closes the connection unless it has read the whole body (decision 0021).
    package func drain(of head: ResponseHead) -> RedirectDrain? {
        guard isPartOfCall, follows(head) else { return nil }
        return RedirectDrain(limit: max(0, redirectPolicy.drainLimit), timeout: redirectPolicy.drainTimeout)
    }

    /// Whether the redirect policy of this request follows `head`.
    package func follows(_ head: ResponseHead) -> Bool {
        // Nearly every response returns here.
        head.status.isFollowable && redirectPolicy.follows(self, after: head)
    }
}

extension HTTPStatus {
    /// Whether the status is a redirect whose Location is followed (RFC 9110 §15.4.2, .3, .4, .8, .9).
    var isFollowable: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}

extension Field.Name {
    /// Whether the field describes the body, so that it must be removed along with it.
    fileprivate var describesContent: Bool {
        canonicalName.hasBytePrefix("content-")
    }
}
