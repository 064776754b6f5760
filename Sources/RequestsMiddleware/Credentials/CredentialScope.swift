/// The environment of credentials, as one reference.
///
/// Executors that contain middleware are copied for each request, and an environment consists of many values whose
/// layout is computed at run time.
final class CredentialScope: Sendable {
    let environment: RequestEnvironment

    init(_ environment: RequestEnvironment) {
        self.environment = environment
    }
}
