extension Client {
    /// Returns this client with middleware that `add` adds, within the environment of its API.
    ///
    /// Without a valid base URL there is no environment; every call of the client fails then, before anything is sent.
    func adding(
        _ add: (any RequestExecutor, RequestEnvironment) -> any RequestExecutor
    ) -> Client<API> {
        if let environment = RequestEnvironment(baseURL: api.baseURL) {
            return Client(api, executor: add(executor, environment))
        }
        let failing = executor.intercepting { request, _ in
            throw RequestError(
                .invalidRequest(.malformedURL), detail: "the base URL of the API is not the URL of a server"
            ).beforeSending().adding(request: request)
        }
        return Client(api, executor: failing)
    }
}
