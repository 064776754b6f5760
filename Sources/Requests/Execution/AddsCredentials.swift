/// Middleware that adds the credentials of a user to requests, which a cache before it does not see.
package protocol AddsCredentials: Middleware {
    /// Returns a text that differs for users of the program; empty for the user of the first credentials.
    func caller(of request: PreparedRequest) -> String
}

extension RequestExecutor {
    /// Returns a text that differs for the users whose credentials middleware adds to `request` behind a cache; empty
    /// for the first ones.
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
