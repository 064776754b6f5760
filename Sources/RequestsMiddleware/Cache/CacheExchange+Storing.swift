extension CacheExchange {
    /// Updates a stored response that the server has confirmed, and returns it (RFC 9111 §4.3.4).
    func confirmed(_ found: Found, by response: RawResponse, _ forwarded: ForwardedExchange) async throws(RequestError)
        -> RawResponse
    {
        let updated = found.response.updated(
            with: response.header, forwarded, heuristicLimit: settings.rules.heuristicSeconds)
        let isStorable = Caching.Rules.permitsStoring(updated.status, updated.header, for: conditions)
        var status = response.metrics.cacheStatus
        if !isStorable {
            await settings.store.removeEntry(for: found.key)
        } else {
            status?.isStored = await replace(found, with: updated, forwarded)
        }
        let now = settings.time
        status?.timeToLive = Self.seconds(updated.freshness.remaining(at: now))
        // The stored header lacks only the fields that may not be stored.
        guard var result = stored(updated, at: now) else { return response }
        result.metrics = response.metrics
        result.metrics.cacheStatus = status
        return try deliver(result)
    }

    /// Stores a response with new fields in place of `found`.
    ///
    /// Returns whether it was passed to the store.
    private func replace(_ found: Found, with updated: StoredResponse, _ forwarded: ForwardedExchange) async -> Bool {
        guard !settings.invalidations.hasInvalidated(key, since: forwarded.invalidations) else { return false }
        guard VariantList.names(in: updated.header) == VariantList.names(in: found.response.header) else {
            // The new Vary field names other request fields.
            await settings.store.removeEntry(for: found.key)
            return await save(updated, forwarded.invalidations)
        }
        // Another exchange may have replaced the response meanwhile.
        if case .response(let newer)? = await settings.store.entry(for: found.key)?.content,
            newer.responseTime > updated.responseTime
        {
            return false
        }
        await settings.store.store(Caching.Entry(updated), for: found.key)
        return await keepsStored(since: forwarded.invalidations)
    }

    /// Returns whether the response just stored is still valid.
    ///
    /// If an unsafe request has ended meanwhile, it is removed.
    private func keepsStored(since invalidations: Int) async -> Bool {
        guard settings.invalidations.hasInvalidated(key, since: invalidations) else { return true }
        await settings.store.removeEntry(for: key)
        return false
    }

    func storage(of response: RawResponse) -> Caching.Storage {
        // The check of the response is first, because most responses fail it, and both checks read the directives.
        guard !isPart(response), Caching.Rules.permitsStoring(response.status, response.header, for: conditions) else {
            return .never
        }
        return settings.rules.storage(of: response.header, for: request)
    }

    private func isPart(_ response: RawResponse) -> Bool { hasRange || response.status == 206 }

    /// Stores a response that is not a confirmation, and returns it.
    func received(
        _ response: RawResponse, replacing found: Found?, _ forwarded: ForwardedExchange
    ) async -> RawResponse {
        guard request.method == .get else {
            await compare(response, with: forwarded)
            return response
        }
        let storage = storage(of: response)
        guard storage > .never else {
            // A response that was validated and is not confirmed must not be used again.
            if let found, !isPart(response), response.status.code < 500, response.status != 304 {
                await settings.store.removeEntry(for: found.key)
            }
            return response
        }
        return await store(response, storage, forwarded)
    }

    private func store(_ response: RawResponse, _ storage: Caching.Storage, _ forwarded: ForwardedExchange) async
        -> RawResponse
    {
        var response = response
        let limit = max(0, settings.rules.maximumBodySize)
        var header = response.header
        header.addDate(forwarded.responseTime)
        let (status, heuristicLimit) = (response.status, settings.rules.heuristicSeconds)
        let needsValidation = forwarded.variesByHiddenFields(header)
        let make: @Sendable (Data) -> StoredResponse = { [header] body in
            StoredResponse(
                status: status, header: header, body: body, requestTime: forwarded.requestTime,
                responseTime: forwarded.responseTime, storage: storage, heuristicLimit: heuristicLimit,
                needsValidation: needsValidation)
        }
        switch response.body {
        case .bytes(let data):
            guard data.count <= limit, request.hasWholeBody(of: response, data) else { return response }
            let stored = make(data)
            guard await save(stored, forwarded.invalidations) else { return response }
            let remaining = stored.freshness.remaining(at: settings.time)
            response.metrics.cacheStatus?.timeToLive = Self.seconds(remaining)
        case .stream(let stream):
            if let length = stream.length, length > limit { return response }
            let space = settings.recordings.emptyShare(of: request.originKey)
            let recorder = BodyRecorder(length: stream.length, limit: limit, in: space) { [self] body in
                _ = await save(make(body), forwarded.invalidations)
            }
            response = response.observed(by: recorder, to: request)
        case .file: return response
        }
        response.metrics.cacheStatus?.isStored = true
        return response
    }

    /// Stores a response under the key that its Vary field and the credentials of the request determine.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - invalidations: The number of invalidations before the request was sent.
    /// - Returns: Whether the response was passed to the store.
    private func save(_ response: StoredResponse, _ invalidations: Int) async -> Bool {
        guard !settings.invalidations.hasInvalidated(key, since: invalidations),
            let names = VariantList.names(in: response.header)
        else { return false }
        let store = settings.store
        let needsList = !names.isEmpty || fields.contains(.credentials)
        let generation = needsList ? settings.invalidations.beginList(for: key) : nil
        defer { if needsList { settings.invalidations.endList(for: key) } }
        let current = await store.entry(for: key)
        var list = generation.map { VariantList(generation: $0) }
        var isKnown = false
        if case .variants(let known)? = current?.content { (list, isKnown) = (known, true) }
        guard let list else {
            // A streamed body can end after the exchange that replaced its response.
            if case .response(let newer)? = current?.content, newer.responseTime > response.responseTime {
                return false
            }
            await store.store(Caching.Entry(response), for: key)
            return await keepsStored(since: invalidations)
        }
        var updated = list
        if case .response? = current?.content, let current {
            // The response to requests without credentials remains available.
            updated.insert([])
            await store.store(current, for: key.variantWithoutFields(updated.generation))
        }
        updated.insert(names)
        let variant = key.variant(updated.generation, names, of: self)
        if case .response(let newer)? = await store.entry(for: variant)?.content,
            newer.responseTime > response.responseTime
        {
            return false
        }
        if !isKnown || updated != list { await store.store(Caching.Entry(.variants(updated)), for: key) }
        await store.store(Caching.Entry(response), for: variant)
        return await keepsStored(since: invalidations)
    }

    /// Compares the response to HEAD with the stored response to GET, and removes the stored one if they differ (RFC
    /// 9111 §4.3.5).
    private func compare(_ response: RawResponse, with forwarded: ForwardedExchange) async {
        guard response.status == 200, !conditions.ignoresStored, case .found(let found) = await lookup() else {
            return
        }
        let (new, old) = (response.header, found.response.header)
        let differs = [Field.Name.etag, .lastModified, .contentLength].contains { name in
            guard let value = new[name], let former = old[name] else { return false }
            return !value.hasSameBytes(as: former)
        }
        guard !differs, new.contains(.etag) || new.contains(.lastModified) else {
            if differs { await settings.store.removeEntry(for: found.key) }
            return
        }
        let updated = found.response.updated(
            with: new, forwarded, heuristicLimit: settings.rules.heuristicSeconds)
        guard Caching.Rules.permitsStoring(updated.status, updated.header, for: conditions) else {
            return await settings.store.removeEntry(for: found.key)
        }
        _ = await replace(found, with: updated, forwarded)
    }
}

// MARK: Other requests

extension CacheExchange {
    /// Forwards a GET or HEAD request that the cache does not handle.
    func bypass(_ next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        guard !conditions.forbidsForwarding else { return try deliver(gatewayTimeout(.bypass)) }
        var response = try await next.execute(request)
        response.metrics.cacheStatus = RawResponse.Metrics.CacheStatus(
            forwardReason: .bypass, forwardedStatus: response.status)
        return response
    }

    /// Forwards a request with a method other than GET and HEAD, and makes stored responses invalid (RFC 9111 §4.4).
    func forwardUnsafe(_ next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        guard !conditions.forbidsForwarding else { return try deliver(gatewayTimeout(.method)) }
        var response: RawResponse
        do throws(RequestError) {
            response = try await next.execute(request)
        } catch {
            // The server may have changed the resource before the error.
            if !request.method.isSafe, error.mayHaveReachedServer { await invalidate(request.target) }
            throw error
        }
        if !request.method.isSafe, (200..<400).contains(response.status.code) { await invalidate(after: response) }
        response.metrics.cacheStatus = RawResponse.Metrics.CacheStatus(
            forwardReason: .method, forwardedStatus: response.status)
        return response
    }

    private func invalidate(after response: RawResponse) async {
        await invalidate(request.target)
        for name in [Field.Name.location, .contentLocation] {
            guard let reference = response.header.values(of: name).first,
                let target = try? request.target.resolving(reference), target.hasSameOrigin(as: request.target)
            else { continue }
            await invalidate(target)
        }
    }

    private func invalidate(_ target: TargetURI) async {
        guard let partition = settings.partition.prefix(request) else { return }
        let key = Caching.Key(target, in: partition)
        settings.invalidations.invalidate(key)
        await settings.store.removeEntry(for: key)
    }
}

extension PreparedRequest {
    /// Returns whether `data` is the whole body of a response; the body of a followed redirect may be cut.
    fileprivate func hasWholeBody(of response: RawResponse, _ data: Data) -> Bool {
        guard follows(response.head) else { return true }
        return response.header[.contentLength].flatMap { Int($0) } == data.count
    }
}
