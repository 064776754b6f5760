/// A place for the one client that an application shares, set up once.
///
/// ```swift
/// extension GitHub {
///     static let shared = SharedClient { Client(GitHub.production, executor: SocketExecutor()) }
/// }
/// GitHub.shared.bootstrap { Client(GitHub.staging, executor: SocketExecutor()) }  // perhaps, at launch
/// let user = try await GitHub.shared.client.perform(Users.me)
/// ```
/// It is meant for applications; libraries take a ``Client`` from their caller. Others may exist beside it.
public final class SharedClient<API: RequestProviding>: Sendable {
    private enum Stage: Sendable {
        case usual(@Sendable () -> Client<API>)
        case bootstrapped(@Sendable () -> Client<API>)
        case made(Client<API>)
    }

    private let stage: Lock<Stage>

    /// A client that `make` gives, unless ``bootstrap(_:)`` sets another one in time.
    public init(_ make: @escaping @Sendable () -> Client<API>) {
        stage = Lock(.usual(make))
    }

    /// Says how the client is made, instead of the usual way.
    ///
    /// Only the first one counts, and only before ``client`` was asked for: a later one is ignored, since requests may
    /// already be under way with the client there is.
    ///
    /// - Returns: Whether it counts.
    @discardableResult
    public func bootstrap(_ make: @escaping @Sendable () -> Client<API>) -> Bool {
        stage.withLock { stage in
            guard case .usual = stage else { return false }
            stage = .bootstrapped(make)
            return true
        }
    }

    /// The client; made when first asked for, once, on the thread that asks.
    ///
    /// What makes it must not ask for it.
    public var client: Client<API> {
        stage.withLock { stage in
            switch stage {
            case .made(let client): return client
            case .usual(let make), .bootstrapped(let make):
                let client = make()
                stage = .made(client)
                return client
            }
        }
    }
}
