extension RequestExecutor {
    /// Performs `request` on the calling thread, which is blocked until there is a value.
    ///
    /// The same pipeline as ``perform(_:)``, run by this thread: no other one is needed, so it can be called from any
    /// number of threads at once. Called from inside a task it still completes, but keeps the task's thread
    /// occupied. See <doc:CallingFromSynchronousCode>.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<R: RequestConvertible>(_ request: R) throws(RequestError) -> R.Resource {
        try request.valueInPlace(from: self)
    }

    /// Performs `request` on the calling thread, which is blocked until there is a response or an error.
    ///
    /// A call with a limit for the whole (``Timeouts/total``) ends at the latest 3 s after it, also when something in it
    /// heeds neither limit nor cancellation, such as middleware that waits for the main actor on the main thread.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func resultAndWait<R: RequestConvertible>(
        for request: R
    ) -> Result<TypedResponse<R.Resource>, RequestError> {
        do throws(RequestError) {
            return .success(try request.typedResponseInPlace(from: self))
        } catch {
            return .failure(error)
        }
    }
}

extension RequestExecutor {
    /// Executes one exchange on the calling thread, which is blocked until the response is there.
    ///
    /// What ``execute(_:)`` does: no redirect is followed, nothing is validated or decoded.
    ///
    /// - Throws: ``RequestError`` with the request, and the response once there was one.
    @available(*, noasync, message: "execute(_:) suspends instead of blocking the thread")
    public func executeAndWait(_ request: PreparedRequest) throws(RequestError) -> RawResponse {
        try request.responseInPlace(from: self)
    }
}

extension Client {
    /// Performs `endpoint` on the calling thread, which is blocked until there is a value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<E: Endpoint>(_ endpoint: E) throws(RequestError) -> E.Resource where E.API == API {
        try endpoint.request(from: api).valueInPlace(from: executor)
    }

    /// Performs `call` on the calling thread, which is blocked until there is a value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(_ call: Call<API, Resource>) throws(RequestError) -> Resource {
        try call.request(from: api).valueInPlace(from: executor)
    }

    /// Performs `request` on the calling thread, which is blocked until there is a value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(_ request: Request<API, Resource>) throws(RequestError) -> Resource {
        try request.valueInPlace(from: executor)
    }

    /// Performs the request that `make` describes on the calling thread, which is blocked until there is a value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(
        _ make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> Resource {
        try make(api).valueInPlace(from: executor)
    }
}

extension Client {
    /// Performs `endpoint` on the calling thread, which is blocked until there is a response or an error.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func resultAndWait<E: Endpoint>(
        for endpoint: E
    ) -> Result<TypedResponse<E.Resource>, RequestError> where E.API == API {
        executor.resultAndWait(for: endpoint.request(from: api))
    }

    /// Performs `call` on the calling thread, which is blocked until there is a response or an error.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func resultAndWait<Resource>(
        for call: Call<API, Resource>
    ) -> Result<TypedResponse<Resource>, RequestError> {
        executor.resultAndWait(for: call.request(from: api))
    }

    /// Performs `request` on the calling thread, which is blocked until there is a response or an error.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func resultAndWait<Resource>(
        for request: Request<API, Resource>
    ) -> Result<TypedResponse<Resource>, RequestError> {
        executor.resultAndWait(for: request)
    }

    /// Performs the request that `make` describes on the calling thread, which is blocked until that has ended.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func resultAndWait<Resource>(
        for make: (API) -> Request<API, Resource>
    ) -> Result<TypedResponse<Resource>, RequestError> {
        executor.resultAndWait(for: make(api))
    }
}
