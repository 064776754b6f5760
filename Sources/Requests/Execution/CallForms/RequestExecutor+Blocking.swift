extension RequestExecutor {
    /// Performs `request`, blocks the calling thread until the call ends, and returns the decoded value.
    ///
    /// The call has the same steps as ``perform(_:)``, and the calling thread runs them. It needs no other thread, so
    /// any number of threads can perform calls at the same time. If a task calls this function, the call still
    /// completes, but it occupies the thread of the task. See <doc:CallingFromSynchronousCode>.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @inline(__always)  // the type of the request is then known, even if that of the executor is not (decision 0047)
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<R: RequestConvertible>(_ request: R) throws(RequestError) -> R.Resource {
        try request.valueInPlace(from: InPlaceExecutor(self))
    }

    /// Performs `request`, blocks the calling thread until the call ends, and returns the value with its response.
    ///
    /// A call with a total limit (``Timeouts/total``) ends at most 3 s after that limit, even if a part of it ignores
    /// limits and cancellation, such as middleware that waits for the main actor on the main thread.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @inline(__always)  // the type of the request is then known, even if that of the executor is not (decision 0047)
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<R: RequestConvertible>(
        for request: R
    ) throws(RequestError) -> TypedResponse<R.Resource> {
        try request.typedResponseInPlace(from: InPlaceExecutor(self))
    }
}

extension RequestExecutor {
    /// Executes one exchange, blocks the calling thread until it ends, and returns the response.
    ///
    /// As with ``execute(_:)``, no redirect is followed, and nothing is validated or decoded.
    ///
    /// - Throws: ``RequestError`` with the request and, if it arrived, the response.
    @available(*, noasync, message: "execute(_:) suspends instead of blocking the thread")
    public func executeAndWait(_ request: PreparedRequest) throws(RequestError) -> RawResponse {
        try request.responseInPlace(from: InPlaceExecutor(self))
    }
}

extension Client {
    /// Performs `endpoint`, blocks the calling thread until the call ends, and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<E: Endpoint>(_ endpoint: E) throws(RequestError) -> E.Resource where E.API == API {
        try endpoint.identifiedRequest(from: api).valueInPlace(from: inPlaceExecutor)
    }

    /// Performs `call`, blocks the calling thread until the call ends, and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(_ call: Call<API, Resource>) throws(RequestError) -> Resource {
        try call.request(from: api).valueInPlace(from: inPlaceExecutor)
    }

    /// Performs the request that `make` describes, blocks the calling thread until the call ends, and returns the
    /// decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(
        _ make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> Resource {
        try make(api).valueInPlace(from: inPlaceExecutor)
    }
}

extension Client {
    /// Performs `endpoint`, blocks the calling thread until the call ends, and returns the value with its response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<E: Endpoint>(
        for endpoint: E
    ) throws(RequestError) -> TypedResponse<E.Resource> where E.API == API {
        try endpoint.identifiedRequest(from: api).typedResponseInPlace(from: inPlaceExecutor)
    }

    /// Performs `call`, blocks the calling thread until the call ends, and returns the value with its response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<Resource>(
        for call: Call<API, Resource>
    ) throws(RequestError) -> TypedResponse<Resource> {
        try call.request(from: api).typedResponseInPlace(from: inPlaceExecutor)
    }

    /// Performs the request that `make` describes, blocks the calling thread until the call ends, and returns the value
    /// with its response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @inlinable
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<Resource>(
        for make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> TypedResponse<Resource> {
        try make(api).typedResponseInPlace(from: inPlaceExecutor)
    }
}
