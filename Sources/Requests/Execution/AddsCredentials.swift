/// Middleware that adds a user's credentials to requests, where a cache outside it does not see them.
package protocol AddsCredentials: Middleware {
    /// Returns a text that differs for each user whose credentials are added; empty for the first one.
    func caller(of request: PreparedRequest) -> String
}

extension RequestExecutor {
    /// Returns the part of a cache's key that identifies the users whose credentials this chain adds to `request`.
    package func caller(of request: PreparedRequest) -> String {
        guard traits.contains(.addsCredentials) else { return "" }
        let callers = credentialsOfChain.map { $0.caller(of: request) }
        guard !callers.allSatisfy(\.isEmpty) else { return "" }
        return callers.joined(separator: " ")
    }

    /// The middleware of this chain that adds credentials, the outermost first.
    var credentialsOfChain: [any AddsCredentials] {
        switch self {
        case let intercepted as Intercepted: intercepted.credentials
        case let next as NextExecutor: next.chain.base.credentialsOfChain
        default: []
        }
    }
}
