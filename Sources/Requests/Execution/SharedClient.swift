/// A client that the parts of an application share.
///
/// ```swift
/// extension GitHub {
///     static let shared = SharedClient {
///         Client(GitHub.production, executor: SocketExecutor())
///     }
/// }
/// // Optional, at launch:
/// GitHub.shared.bootstrap { Client(GitHub.staging, executor: SocketExecutor()) }
/// let user = try await GitHub.shared.client.perform(Users.me)
/// ```
/// It is meant for applications; libraries take a ``Client`` from their caller. Other clients can exist beside it.
public final class SharedClient<API: RequestProviding>: Sendable {
    private enum Stage: Sendable {
        case initial(@Sendable () -> Client<API>)
        case bootstrapped(@Sendable () -> Client<API>)
        case made(Client<API>)
    }

    private let stage: Lock<Stage>

    /// Creates a shared client whose client `make` creates, unless ``bootstrap(_:)`` replaces that function.
    public init(_ make: @escaping @Sendable () -> Client<API>) {
        stage = Lock(.initial(make))
    }

    /// Replaces the function that creates the client.
    ///
    /// Only the first call has an effect, and only before ``client`` is first read, because requests may already be
    /// under way with the existing client.
    ///
    /// - Returns: Whether the function was replaced.
    @discardableResult
    public func bootstrap(_ make: @escaping @Sendable () -> Client<API>) -> Bool {
        stage.withLock { stage in
            guard case .initial = stage else { return false }
            stage = .bootstrapped(make)
            return true
        }
    }

    /// The client, created once, when it is first read and on the thread that reads it.
    ///
    /// The function that creates it must not read this property.
    public var client: Client<API> {
        stage.withLock { stage in
            switch stage {
            case .made(let client): return client
            case .initial(let make), .bootstrapped(let make):
                // Created under the lock: there must never be a second client.
                let client = make()
                stage = .made(client)
                return client
            }
        }
    }
}
