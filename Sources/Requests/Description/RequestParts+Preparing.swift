extension RequestParts {
    /// Returns the request as it will be sent to an API at `baseURL`, for a decoder that reads `accepting`.
    ///
    /// Pass false for `isTemplate` if the path does not distinguish interpolated values, as a ``RequestPath`` does.
    ///
    /// - Throws: ``RequestError`` with the reason why the request cannot be sent.
    func prepared(
        below baseURL: URL, of api: consuming (any Sendable)? = nil, isTemplate: Bool = true, accepting: [MediaType],
        _ delivery: ResponseBody.Delivery, encodingJSONWith makeEncoder: () -> JSONEncoder
    ) throws(RequestError) -> PreparedRequest {
        if !settings.isDefault, let problem = settings.problem { throw RequestError(.invalidRequest(problem)) }
        let parameters = parameterSets.isEmpty ? nil : try resolvedParameters()
        let request = try PreparedRequest(
            PreparedRequest.Parts(
                method: method, target: try target(below: baseURL, parameters), header: header, delivery: delivery,
                acceptedTypes: accepting, cachePolicy: cachePolicy.applied(to: method), settings: settings,
                template: endpoint.shape, isTemplateKnown: isTemplate, api: api)
        ) { parts throws(RequestError) in
            try prepare(&parts, with: parameters, makeEncoder)
        }
        try request.validate()
        return request
    }

    /// Sets the remaining parts of `prepared`.
    ///
    /// The order is significant: the defaults of the environment, Accept, the body, custom parameters, the credentials.
    private func prepare(
        _ prepared: inout PreparedRequest.Parts, with parameters: ResolvedParameters?,
        _ makeEncoder: () -> JSONEncoder
    ) throws(RequestError) {
        if hasTypedEndpoint { prepared.typedEndpoint = typedEndpoint }
        let defaults = settings.isDefault ? nil : settings.attributes[EnvironmentDefaults.self]
        // A request without a body has no Content-Type. If neither parameters nor defaults can add one, as for nearly
        // every request, it is removed in the same search as the fields of the executor.
        let isBodiless = bodyProvider.isNone && parameters == nil && defaults == nil
        prepared.header.removeAll { $0.belongsToExecutor || isBodiless && $0.name == .contentType }
        var addedFields: [Field] = []
        if let defaults, defaults.applies(to: prepared.target) {
            addedFields = defaults.addFields(to: &prepared.header)
            defaults.addOptions(to: &prepared.settings.attributes)
        }
        if !prepared.acceptedTypes.isEmpty, !prepared.header.contains(.accept) {
            prepared.header.add(Field(name: .accept, value: prepared.acceptedTypes.acceptValue))
        }
        if let provider = parameters?.bodyProvider(besides: bodyProvider) {
            try addBody(of: provider, to: &prepared, makeEncoder)
        } else if bodyProvider.isNone {
            // As the provider does, which is not called because passing it would copy it.
            if !isBodiless { prepared.header.remove(.contentType) }
        } else {
            try addBody(of: bodyProvider, to: &prepared, makeEncoder)
        }
        if let custom = parameters?.custom, !custom.isEmpty {
            // Custom destinations run before the credentials are added, so that they cannot see them.
            var request = PreparedRequest(prepared)
            for (values, apply) in custom {
                try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) { try apply(values, &request) }
            }
            prepared = request.parts
            prepared.header.removeFieldsOfExecutor()
        }
        try authenticate(&prepared, defaults: defaults, addedFields: addedFields)
    }

    /// Adds the body of `provider` and the fields that describe it.
    ///
    /// A Content-Type of the request itself is sent in place of the body's (decision 0074).
    private func addBody(
        of provider: BodyProvider, to prepared: inout PreparedRequest.Parts, _ makeEncoder: () -> JSONEncoder
    ) throws(RequestError) {
        do {
            prepared.body = try provider.body(updating: &prepared.header, encodingJSONWith: makeEncoder)
        } catch {
            throw RequestError(wrapping: error, as: .bodyEncodingFailed).beforeSending()
        }
        if let type = header[.contentType], let bodyType = prepared.header[.contentType], type != bodyType {
            // Without its boundary, a form cannot be read.
            let boundary = MediaType(bodyType)?.parameters["boundary"]
            guard boundary == nil || boundary == MediaType(type)?.parameters["boundary"] else {
                throw RequestError(
                    .invalidRequest(.boundaryNotInContentType),
                    detail: ErrorText.quoted(type, limit: ErrorText.peerTextLimit))
            }
            prepared.header.set(Field(name: .contentType, value: type))
        }
        if case .multipart = provider.kind { Self.addForm(of: provider, to: &prepared) }
        prepared.header.removeFieldsOfExecutor()
    }

    /// Records the form that the body was made from.
    private static func addForm(of provider: BodyProvider, to prepared: inout PreparedRequest.Parts) {
        if case .multipart(let form) = provider.kind { prepared.settings.form = form }
    }

    /// Adds the credentials of the request, else of the environment, else from the userinfo.
    ///
    /// They cannot change the fields that the body and the decoder have set.
    private func authenticate(
        _ prepared: inout PreparedRequest.Parts, defaults: EnvironmentDefaults?, addedFields: [Field]
    ) throws(RequestError) {
        if authenticationProvider.isNone, defaults == nil, prepared.target.userinfo == nil { return }
        let header = prepared.header
        var copy = header
        try authenticationProvider.update(&copy)
        if !authenticationProvider.isNone, !authenticationProvider.setsAuthorizationOnly, copy != header {
            // The fields of a provider are secrets whatever their names are, so a redirect to another origin must
            // remove them (decision 0020).
            let names = HeaderChange(from: header, to: copy).added.map(\.name).filter {
                !Redaction.standard.isSecret($0)
            }
            if !names.isEmpty { prepared.settings.redirectPolicy.sensitiveFields.formUnion(names) }
        }
        if let defaults {
            let areApplied = defaults.applies(to: prepared.target)
            let hasOwn = copy != header || header.contains { $0.name == .authorization && !addedFields.contains($0) }
            let own = copy
            if areApplied, !hasOwn, !header.contains(.authorization) { try defaults.authenticate(&copy) }
            let change = HeaderChange(from: own, to: copy)
            prepared.defaults = AppliedDefaults(
                defaults, areApplied: areApplied, addedFields: addedFields + change.added,
                removedFields: change.removed, mayAuthenticate: !hasOwn)
        }
        // Userinfo is never sent in the target; it becomes Basic credentials (decision 0001).
        if !copy.contains(.authorization), let userinfo = prepared.target.userinfo {
            try AuthenticationProvider.userinfo(userinfo).update(&copy)
        }
        guard copy != header else { return }
        copy.restoreContentFields(from: header)
        prepared.header = copy
    }
}

extension RequestParts {
    /// Returns the target for an API at `baseURL`: the path of this request below that URL, with the query of both.
    func target(below baseURL: URL) throws(RequestError) -> TargetURI {
        try target(below: baseURL, parameterSets.isEmpty ? nil : resolvedParameters())
    }

    private func resolvedParameters() throws(RequestError) -> ResolvedParameters {
        try RequestError.wrapping(.invalidRequest(.parametersNotEncoded)) {
            try ResolvedParameters(parameterSets, method: method, besides: bodyProvider)
        }
    }

    /// Returns the error detail for a path or a reference, with its secrets redacted.
    fileprivate static func detail(_ kind: String, _ text: String, base: TargetURI) -> String {
        "\(kind) \(ErrorText.quoted(url: text)), base URL \(base)"
    }

    private func target(below baseURL: URL, _ parameters: ResolvedParameters?) throws(RequestError) -> TargetURI {
        let base = try BaseTargets.target(of: baseURL.absoluteString)
        if let problem = endpoint.problem {
            let kind = endpoint.isReference ? "reference" : "path"
            let value = problem.value.map { "value \(ErrorText.quoted($0, limit: ErrorText.peerTextLimit)), " } ?? ""
            throw RequestError(
                .invalidRequest(problem.reason), detail: value + Self.detail(kind, endpoint.template, base: base))
        }
        // Nearly every request returns here; the code below would copy the base target and the path.
        if parameters == nil, !endpoint.isReference {
            return endpoint.encoded.isEmpty && queryItems.isEmpty
                ? base : base.appending(path: endpoint.encoded, items: queryItems)
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
    /// Returns the target for `reference`, resolved relative to this one; it must have a host.
    fileprivate func resolving(checked reference: String) throws(RequestError) -> TargetURI {
        let problem: RequestError.InvalidRequest
        do {
            let target = try resolving(reference)
            if !target.host.isEmpty { return target }
            problem = .malformedURL
        } catch {
            problem = error
        }
        throw RequestError(.invalidRequest(problem), detail: RequestParts.detail("reference", reference, base: self))
    }
}
