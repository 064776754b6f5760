/// Performs requests over URLSession: http and https, with the platform's protocols, proxies and trust.
///
/// ```swift
/// let executor = URLSessionExecutor()
/// let tuned = URLSessionExecutor(configuration: .ephemeral)
/// ```
/// It is a handle: copies share one long-lived session, and dropping the last copy lets the calls under way end and
/// invalidates it.
///
/// The app's configuration is copied, and these keys of the copy are set: `httpCookieStorage`, `urlCache` and
/// `urlCredentialStorage` are nil, `httpShouldSetCookies` is false, `requestCachePolicy` is
/// `.reloadIgnoringLocalCacheData`, `timeoutIntervalForRequest` and `timeoutIntervalForResource` are a week: the limits
/// are those of the request's ``Requests/Timeouts``, kept by the executor. All other keys are the app's.
///
/// A body that is a stream is read before anything is sent, because a session stalls where a read waits: up to 1 MiB in
/// memory, more in a file in the temporary folder that only its owner can read and that goes with the call. More than
/// ``spoolLimit`` is `RequestError.Reason.tooLarge(limit:)`, before anything is sent.
///
/// Redirects are not followed here and challenges not answered; a 401 is a response. What a platform's URLSession does
/// differently is in `Docs/Executors.md`.
public struct URLSessionExecutor: RequestExecutor {
    /// Answers a challenge that concerns the connection (ServerTrust, ClientCertificate); see
    /// ``init(configuration:challengeHandler:)``.
    public typealias ChallengeHandler =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// How many bytes of a stream are stored at most before they are sent, unless said otherwise: 4 GiB.
    public static let defaultSpoolLimit = 4 << 30

    /// How many bytes of a stream are stored at most before they are sent.
    public let spoolLimit: Int

    let sessions: Sessions

    /// An executor with a session of its own.
    ///
    /// - Parameters:
    ///   - configuration: What the session is made with; later changes to it have no effect.
    ///   - challengeHandler: Answers ServerTrust and ClientCertificate challenges, on a queue of the session's; nil
    ///     leaves them to the system. Basic, Digest, NTLM, Negotiate and forms never reach it. Foundation on Linux has
    ///     no such challenges: it verifies certificates itself, always, and the handler is not called.
    ///   - spoolLimit: How many bytes of a body that is a stream are stored at most before they are sent; at least 0.
    ///     Bodies of bytes and files are not stored and have no limit here.
    public init(
        configuration: URLSessionConfiguration = .default, challengeHandler: ChallengeHandler? = nil,
        spoolLimit: Int = Self.defaultSpoolLimit
    ) {
        self.spoolLimit = max(0, spoolLimit)
        sessions = Sessions(configuration, challengeHandler: challengeHandler)
    }

    /// Sends `request` and gives the response.
    ///
    /// - Throws: ``Requests/RequestError`` with a reason that is the same on every executor, and the request.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await execute(request) { _ in }
    }

    /// The same, the task configured before it is resumed.
    func execute(
        _ request: PreparedRequest, configuring configure: (URLSessionTask) -> Void
    ) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            try request.checkBeforeSending()
            let generation = sessions.generation
            let upload = try await Upload.preparing(request, spoolLimit: spoolLimit)
            let exchange = try await sessions.makeExchange(request, upload, since: generation)
            configure(exchange.task)
            return try await perform(exchange)
        } catch {
            throw error.adding(request: request)
        }
    }

    /// Sends the request of an exchange that has its task already.
    func perform(_ exchange: SessionExchange) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return try await exchange.run()
        } catch {
            switch error.reason {
            case .protocolViolation, .tooLarge: sessions.retire(after: exchange)
            default: break
            }
            throw error
        }
    }

    /// Cancels the calls under way, those not sent yet included, and goes on with a new session.
    ///
    /// Bodies that are still read from a stream are cancelled as well; responses that have been handed over whole are
    /// not touched. The executor and its copies can be used at once.
    public func reset() {
        sessions.reset()
    }
}

extension URLSessionExecutor: NeedsFileDelivery {
    /// It does: it undoes content codings by itself, and on Linux a stream that is read slowly is held in memory.
    package var needsFileDelivery: Bool { true }
}

extension PreparedRequest {
    /// Checks everything that can be known before a task is made.
    func checkBeforeSending() throws(RequestError) {
        do throws(RequestError) {
            try validate()
            guard trailers == nil else { throw RequestError(.invalidRequest(.trailersNotSupported)) }
            guard target.scheme == "http" || target.scheme == "https" else { throw RequestError(.unsupportedScheme) }
            if Task.isCancelled { throw RequestError(.cancelled) }
            if let deadline, deadline <= .now { throw RequestError(.timedOut(.total)) }
        } catch {
            throw error.beforeSending()
        }
    }
}
