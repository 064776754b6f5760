extension RequestParts {
    /// The request as it will be sent to an API at `baseURL`, for a decoder that reads `accepting`.
    @usableFromInline
    func prepared(
        below baseURL: URL, accepting: [MediaType], _ delivery: Delivery
    ) throws(RequestError) -> PreparedRequest {
        let parameters = try resolvedParameters()
        let target = try target(below: baseURL, parameters)
        let request = try PreparedRequest(target: target, template: endpoint.shape) { parts throws(RequestError) in
            try prepare(&parts, with: parameters, accepting, delivery)
        }
        try request.validate()
        return request
    }

    private func prepare(
        _ prepared: inout PreparedRequest.Parts, with parameters: ResolvedParameters?, _ accepting: [MediaType],
        _ delivery: Delivery
    ) throws(RequestError) {
        prepared.method = method
        prepared.header = header
        prepared.delivery = delivery
        prepared.accepting = accepting
        prepared.handling = handling
        prepared.cachePolicy = cachePolicy.applied(to: method)
        prepared.header.removeFieldsOfExecutor()
        let defaults = handling.isUsual ? nil : attributes[EnvironmentDefaults.self]
        var given: [Field] = []
        if let defaults, defaults.apply(to: prepared.target) {
            given = defaults.addFields(to: &prepared.header)
            defaults.addOptions(to: &prepared.handling.attributes)
        }
        if !accepting.isEmpty, !prepared.header.contains(.accept) {
            prepared.header.add(Field(name: .accept, value: accepting.acceptValue))
        }
        // A provider that is lent is not copied.
        if let provider = parameters?.bodyProvider(besides: bodyProvider) {
            try Self.addBody(of: provider, to: &prepared)
        } else {
            try Self.addBody(of: bodyProvider, to: &prepared)
        }
        if let custom = parameters?.custom, !custom.isEmpty {
            var request = PreparedRequest(prepared)
            for (values, apply) in custom {
                try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) { try apply(values, &request) }
            }
            prepared = request.parts
            prepared.header.removeFieldsOfExecutor()
        }
        try authenticate(&prepared, defaults: defaults, given: given)
    }

    private static func addBody(
        of provider: BodyProvider, to prepared: inout PreparedRequest.Parts
    ) throws(RequestError) {
        if case .none = provider.kind {
            prepared.header.remove(.contentType)
            return
        }
        do {
            prepared.body = try provider.body(updating: &prepared.header)
        } catch {
            throw RequestError(wrapping: error, as: .bodyNotEncoded).beforeSending()
        }
        prepared.header.removeFieldsOfExecutor()
    }

    /// Lets the authentication provider change the header, but not what the body and the decoder have decided.
    private func authenticate(
        _ prepared: inout PreparedRequest.Parts, defaults: EnvironmentDefaults?, given: [Field]
    ) throws(RequestError) {
        if authenticationProvider.isNone, defaults == nil, prepared.target.userinfo == nil { return }
        let header = prepared.header
        var copy = header
        try authenticationProvider.update(&copy)
        if !authenticationProvider.isNone, !authenticationProvider.setsAuthorizationOnly, copy != header {
            // What a provider adds is a secret, whatever it is called.
            let names = HeaderChange(from: header, to: copy).added.map(\.name).filter {
                !Redaction.standard.isSecret($0)
            }
            if !names.isEmpty { prepared.handling.redirects.secretFields.formUnion(names) }
        }
        if let defaults {
            let areApplied = defaults.apply(to: prepared.target)
            let hasOwn = copy != header || header.contains { $0.name == .authorization && !given.contains($0) }
            let own = copy
            if areApplied, !hasOwn, !header.contains(.authorization) { try defaults.authenticate(&copy) }
            let change = HeaderChange(from: own, to: copy)
            prepared.defaults = AppliedDefaults(
                defaults, areApplied: areApplied, given: given + change.added, displaced: change.removed,
                mayAuthenticate: !hasOwn)
        }
        if !copy.contains(.authorization), let userinfo = prepared.target.userinfo {
            try AuthenticationProvider.userinfo(userinfo).update(&copy)
        }
        guard copy != header else { return }
        copy.keepFields(ofContentIn: header)
        prepared.header = copy
    }
}

extension RequestParts {
    /// The target at an API at `baseURL`: that URL, the path below it, the query of both.
    func target(below baseURL: URL) throws(RequestError) -> TargetURI {
        try target(below: baseURL, resolvedParameters())
    }

    private func resolvedParameters() throws(RequestError) -> ResolvedParameters? {
        if parameterSets.isEmpty { return nil }
        return try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) {
            try ResolvedParameters(parameterSets, method: method)
        }
    }

    /// Names the text that is wrong in a path or reference, without the secrets it may hold.
    fileprivate static func place(of text: String, _ relation: String, _ base: TargetURI) -> String {
        "“\(Redaction.standard.redacted(reference: text))” \(relation) \(base)"
    }

    private func target(below baseURL: URL, _ parameters: ResolvedParameters?) throws(RequestError) -> TargetURI {
        let base = try BaseTargets.target(of: baseURL.absoluteString)
        if let problem = endpoint.problem {
            throw RequestError(.invalidRequest(problem), detail: Self.place(of: endpoint.template, "below", base))
        }
        let root = endpoint.isReference ? try base.resolving(checked: endpoint.encoded) : base
        let path = endpoint.isReference ? "" : endpoint.encoded
        guard let query = parameters?.query else {
            return path.isEmpty && queryItems.isEmpty ? root : root.appending(path: path, items: queryItems)
        }
        let added = try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) {
            try query.format.query(of: query.parameters)
        }
        let before = min(itemsBeforeParameters ?? queryItems.count, queryItems.count)
        let texts = [
            QueryItems(queryItems[..<before]).encoded(), added, QueryItems(queryItems[before...]).encoded(),
        ]
        return root.appending(path: path, query: texts.filter { !$0.isEmpty }.joined(separator: "&"))
    }
}

extension TargetURI {
    /// What `reference` means when it is found here.
    fileprivate func resolving(checked reference: String) throws(RequestError) -> TargetURI {
        let target: TargetURI
        do {
            target = try resolving(reference)
        } catch {
            throw RequestError(.invalidRequest(error), detail: RequestParts.place(of: reference, "at", self))
        }
        guard !target.host.isEmpty else {
            throw RequestError(.invalidRequest(.malformedURL), detail: RequestParts.place(of: reference, "at", self))
        }
        return target
    }
}
