/// The environment to which credentials belong, as one reference.
///
/// Executors that contain middleware are copied for each request, and an environment consists of many values whose
/// layout is computed at run time.
final class CredentialScope: Sendable {
    let environment: RequestEnvironment

    init(_ environment: RequestEnvironment) {
        self.environment = environment
    }

    /// Returns whether secrets of the scope may be added to `request`.
    ///
    /// Its target must be at or below the base URL, and the call must not have left its origin.
    func contains(_ request: PreparedRequest) -> Bool {
        position(of: request) == .inside
    }

    /// Returns the position of the target of `request`; `outside` once the call has left its origin.
    func position(of request: PreparedRequest) -> RequestEnvironment.Position {
        request.hasLeftOrigin ? .outside : environment.position(of: request.target)
    }
}
