extension RequestConvertible {
    /// This request as it will be sent; nothing is sent, and what is described stays as it is.
    ///
    /// The URL comes first, then the header, which the decoder's Accept, the body and last the authentication may
    /// change, in that order. Authentication cannot change Accept, Content-Type or the framing fields.
    ///
    /// - Throws: ``RequestError``: ``RequestError/Reason/invalidRequest(_:)`` for what cannot be sent,
    ///   ``RequestError/Reason/bodyNotEncoded`` with the body provider's error as its underlying one.
    public func prepared() throws(RequestError) -> PreparedRequest {
        let parameters = try resolvedParameters()
        return try prepared(at: target(parameters), parameters)
    }

    private func prepared(
        at target: TargetURI, _ parameters: ResolvedParameters?
    ) throws(RequestError) -> PreparedRequest {
        let decoder = responseDecoder
        var header = self.header
        header.removeAll { $0.name.belongsToExecutor }
        var attributes = self.attributes
        let defaults = attributes[EnvironmentDefaults.self].flatMap { $0.apply(to: target) ? $0 : nil }
        defaults?.addFields(to: &header)
        defaults?.addOptions(to: &attributes)
        if !decoder.accepting.isEmpty, !header.contains(.accept) {
            header.add(Field(name: .accept, value: decoder.accepting.acceptValue))
        }
        let provider = parameters?.bodyProvider(besides: bodyProvider) ?? bodyProvider
        let body = try encodedBody(provider, &header)
        var parts = PreparedRequest.Parts(target: target)
        parts.method = method
        parts.header = header
        parts.body = body
        parts.delivery = decoder.delivery
        if let custom = parameters?.custom, !custom.isEmpty {
            var request = PreparedRequest(parts)
            for (values, apply) in custom {
                try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) { try apply(values, &request) }
            }
            parts = request.parts
        }
        authenticate(&parts.header, at: target, defaults: defaults)
        parts.timeouts = timeout
        parts.redirects = redirects
        parts.validator = validator
        parts.accepting = decoder.accepting
        parts.cachePolicy = cachePolicy.applied(to: method)
        parts.template = endpoint.template
        parts.attributes = attributes
        parts.onProgress = onProgress
        let request = PreparedRequest(parts)
        try request.validate()
        return request
    }

    /// The target: the base URL, the path below it, the query of both.
    package func target() throws(RequestError) -> TargetURI {
        try target(resolvedParameters())
    }

    private func resolvedParameters() throws(RequestError) -> ResolvedParameters? {
        let sets = parameterSets
        if sets.isEmpty { return nil }
        return try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) {
            try ResolvedParameters(sets, method: method)
        }
    }

    private func target(_ parameters: ResolvedParameters?) throws(RequestError) -> TargetURI {
        let base = try BaseTargets.target(of: baseURL.absoluteString)
        let endpoint = self.endpoint
        if let problem = endpoint.problem {
            throw RequestError(.invalidRequest(problem), detail: "“\(endpoint.template)” below \(base)")
        }
        let items = queryItems
        let root = endpoint.isReference ? try base.resolving(checked: endpoint.encoded) : base
        if endpoint.encoded.isEmpty, items.isEmpty, parameters == nil { return root }
        let added = try parameters?.query.map { query throws(RequestError) in
            try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) {
                try query.format.query(of: query.parameters)
            }
        }
        let own = items.encoded()
        let query =
            root.query == nil && added == nil
            ? own : [root.query ?? "", own, added ?? ""].filter { !$0.isEmpty }.joined(separator: "&")
        return root.replacing(
            path: endpoint.isReference ? root.path : base.path(appending: endpoint),
            query: query.isEmpty ? root.query : query, fragment: root.fragment)
    }

    private func encodedBody(
        _ provider: BodyProvider, _ header: inout Header
    ) throws(RequestError) -> RequestBody {
        var copy = header
        do {
            let body = try provider.body(updating: &copy)
            header = copy
            header.removeAll { $0.name.belongsToExecutor }
            return body
        } catch {
            throw RequestError(wrapping: error, as: .bodyNotEncoded).beforeSending()
        }
    }

    /// Lets the authentication provider change the header, but not what the body and the decoder have decided.
    private func authenticate(_ header: inout Header, at target: TargetURI, defaults: EnvironmentDefaults?) {
        var copy = header
        authenticationProvider.update(&copy)
        if let defaults, copy == header, !header.contains(.authorization) { defaults.authenticate(&copy) }
        if !copy.contains(.authorization), let userinfo = target.userinfo {
            AuthenticationProvider.userinfo(userinfo).update(&copy)
        }
        guard copy != header else { return }
        copy.removeAll { $0.name.belongsToExecutor }
        for name in [Field.Name.accept, .contentType] where copy.values(of: name) != header.values(of: name) {
            copy.remove(name)
            copy.add(header.filter { $0.name == name })
        }
        header = copy
    }
}

extension TargetURI {
    /// What `reference` means when it is found here.
    fileprivate func resolving(checked reference: String) throws(RequestError) -> TargetURI {
        let target: TargetURI
        do {
            target = try resolving(reference)
        } catch {
            throw RequestError(.invalidRequest(error), detail: "“\(reference)” at \(self)")
        }
        guard !target.host.isEmpty else {
            throw RequestError(.invalidRequest(.malformedURL), detail: "“\(reference)” at \(self)")
        }
        return target
    }

    /// The path of this base with `endpoint` below it: one slash between them, a trailing one kept.
    fileprivate func path(appending endpoint: RequestPath) -> String {
        guard !endpoint.encoded.isEmpty else { return path }
        let isRooted = endpoint.encoded.utf8.first == UInt8(ascii: "/")
        let hasSlash = path.utf8.last == UInt8(ascii: "/")
        switch (hasSlash, isRooted) {
        case (true, true): return path.dropLast() + endpoint.encoded
        case (false, false): return path + "/" + endpoint.encoded
        default: return path + endpoint.encoded
        }
    }
}
