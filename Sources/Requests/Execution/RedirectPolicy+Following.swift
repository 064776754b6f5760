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
        guard limit > 0, response.status.isFollowable else { return nil }
        guard let location = try Self.location(of: response) else { return nil }
        let target = try resolve(location, against: request.target, response: response)
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
        } else if !request.body.isReplayable {
            throw RequestError(.bodyNotReplayable, detail: "redirected to \(target)", response: response)
        }
        try next.moveDefaults(isLeavingOrigin: isLeaving)
        return PreparedRequest(next)
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
        canonicalName.hasPrefix("content-")
    }
}
