/// Middleware that adds a user's credentials to requests; a cache outside this middleware does not see them.
package protocol AddsCredentials: Middleware {
    /// Returns a text that differs for each user whose credentials are added; empty for the first user.
    func caller(of request: PreparedRequest) -> String
}

extension RequestExecutor {
    /// Returns a part for a cache's key: it identifies the users whose credentials this chain adds to `request`.
    package func caller(of request: PreparedRequest) -> String {
        guard traits.contains(.addsCredentials) else { return "" }
        let callers = credentialsOfChain.map { $0.caller(of: request) }
        guard !callers.allSatisfy(\.isEmpty) else { return "" }
        return callers.joined(separator: " ")
    }

    /// The middleware in this chain that adds credentials, outermost first.
    var credentialsOfChain: [any AddsCredentials] {
        switch self {
        case let intercepted as Intercepted: intercepted.credentials
        case let next as NextExecutor: next.chain.base.credentialsOfChain
        default: []
        }
    }
}
