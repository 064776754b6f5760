import RequestsPOSIX

/// An executor that sends requests over URLSession: http and https, with the platform's protocols, proxies and trust.
///
/// ```swift
/// let executor = URLSessionExecutor()
/// let tuned = URLSessionExecutor(configuration: .ephemeral)
/// ```
///
/// Copies share one session. Releasing the last one lets running calls finish, then invalidates it.
///
/// The executor copies the configuration and overrides these keys of the copy: `httpCookieStorage`, `urlCache` and
/// `urlCredentialStorage` are nil, `httpShouldSetCookies` is false, `requestCachePolicy` is
/// `.reloadIgnoringLocalCacheData`, and `timeoutIntervalForRequest` and `timeoutIntervalForResource` are one week. The
/// executor itself enforces the time limits of the request's ``/Requests/Timeouts``. All other keys keep the values
/// that you set.
///
/// A streamed request body is stored before anything is sent, because a session stalls while a read waits: up to 1 MiB
/// in memory, more in a file in the temporary directory that only its owner can read and that is removed with the call.
/// A body of more than `spoolLimit` bytes fails with `RequestError.Reason.tooLarge(limit:)` before anything is sent.
///
/// The executor does not follow redirects and does not respond to authentication challenges; a 401 is a response.
/// `Docs/Executors.md` lists how the URLSession of each platform differs.
public struct URLSessionExecutor: RequestExecutor {
    /// A function that responds to a challenge about the connection (ServerTrust or ClientCertificate); see
    /// ``URLSessionExecutor/init(configuration:tls:challengeHandler:spoolLimit:)``.
    public typealias ChallengeHandler =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// The maximum size in bytes of a streamed request body, which is stored before it is sent; at least 0.
    package let spoolLimit: Int

    let sessions: Sessions

    /// Creates an executor with its own session.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the session. The executor copies it, so later changes have no effect.
    ///     With one for background sessions, every request fails before anything is sent.
    ///   - tls: The trust, the minimum version, the pins and the check of servers; nil leaves them to the system. On
    ///     Apple's systems, https requests fail with
    ///     ``/Requests/RequestError/InvalidRequest/invalidTLSConfiguration`` before anything is sent if a setting is
    ///     invalid, such as a file that cannot be read, or if a session cannot keep it: an identity, application
    ///     protocols, and the variables SSL_CERT_FILE and SSL_CERT_DIR. `serverName` is verified, but the host of the
    ///     URL is sent as SNI. A later minimum version of `configuration` applies. On Linux a session keeps none of the
    ///     settings: with any value, https requests fail in this way. Use SocketExecutor there.
    ///   - challengeHandler: Responds to ServerTrust and ClientCertificate challenges, on a queue of the session. With
    ///     nil, the system decides. It never receives challenges for Basic, Digest, NTLM, Negotiate and HTML forms, nor
    ///     challenges of servers that `tls` refuses. For a server that `tls` accepts, `performDefaultHandling` accepts
    ///     it. Foundation on Linux has no challenges about the connection and never calls the handler: with one, https
    ///     requests fail there before anything is sent, because the app may rely on it to refuse servers.
    ///   - spoolLimit: The maximum size in bytes of a streamed request body, which is stored before it is sent. A
    ///     negative value counts as 0. Bodies in memory and in files are not stored and are not limited.
    public init(
        configuration: URLSessionConfiguration = .default, tls: TLSConfiguration? = nil,
        challengeHandler: ChallengeHandler? = nil, spoolLimit: Int = 4 << 30
    ) {
        let challenges = ConnectionChallenges(tls: tls.map { SessionTLSSettings($0) }, handler: challengeHandler)
        self.init(configuration, isInBackground: configuration.identifier != nil, challenges, spoolLimit: spoolLimit)
    }

    /// Creates an executor.
    ///
    /// `isInBackground` states that `configuration` is for background sessions, which tests on Linux cannot create.
    init(
        _ configuration: URLSessionConfiguration, isInBackground: Bool,
        _ challenges: ConnectionChallenges = ConnectionChallenges(tls: nil, handler: nil),
        spoolLimit: Int
    ) {
        self.spoolLimit = max(0, spoolLimit)
        sessions = Sessions(configuration, isInBackground: isInBackground, challenges)
    }

    /// Sends `request` and returns the response.
    ///
    /// - Throws: ``/Requests/RequestError`` with the request and a reason that is the same for every executor.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await execute(request) { _ in }
    }

    /// Sends `request` after `configure` has configured its task, and returns the response.
    func execute(
        _ request: PreparedRequest, configuring configure: @escaping @Sendable (URLSessionTask) -> Void
    ) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            try request.checkBeforeSending(in: sessions)
            // Read before the body is stored: a reset during that time must cancel the call.
            let generation = sessions.generation
            let upload = try await Upload.preparing(request, spoolLimit: spoolLimit)
            var response = try await perform(
                sessions.exchange(request, upload, since: generation, configuring: configure))
            response.request = request
            return response
        } catch {
            throw error.adding(request: request)
        }
    }

    /// Sends the request of `exchange`, and returns the response.
    func perform(_ exchange: SessionExchange) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return try await exchange.run()
        } catch {
            switch error.reason {
            // The connection may contain unread bytes, which libcurl would take for the next response.
            case .protocolViolation, .tooLarge: sessions.retire(after: exchange)
            default: break
            }
            throw error
        }
    }

    /// Cancels all calls, sent or not, and continues with a new session.
    ///
    /// This also cancels calls whose streamed request body is still being stored. Responses that have already been
    /// returned with their whole body are not affected. You can use the executor and its copies again at once.
    public func reset() {
        sessions.reset()
    }
}

extension URLSessionExecutor {
    /// The trait `writesFiles`.
    ///
    /// The session decodes content codings itself and, on Linux, holds a slowly read stream in memory.
    public var traits: ExecutorTraits { .writesFiles }
}

extension PreparedRequest {
    /// Throws if it is known before a task exists that this request cannot be sent.
    func checkBeforeSending(in sessions: Sessions) throws(RequestError) {
        do throws(RequestError) {
            guard !sessions.areInBackground else {
                throw RequestError(
                    .invalidRequest(.backgroundSessionNotSupported),
                    detail: "use a default or ephemeral configuration; a background transfer outlives the process, "
                        + "and needs a URLSession with a delegate of the app")
            }
            try validate()
            guard trailers == nil else { throw RequestError(.invalidRequest(.trailersNotSupported)) }
            // On every platform, Foundation fails a GET with a body, with its own error.
            guard body.isNone || (method != .get && method != .head) else {
                throw RequestError(
                    .invalidRequest(.bodyNotAllowed),
                    detail: "URLSession does not send a body with \(method); use SocketExecutor")
            }
            guard target.isHTTP || target.isHTTPS else {
                throw RequestError(
                    .unsupportedScheme,
                    detail: "\(ErrorText.quoted(target.scheme)); URLSessionExecutor supports http and https")
            }
            if target.isHTTPS { try sessions.challenges.prepare() }
            guard Platform.supportsIPv6Addresses || target.host.utf8.first != UInt8(ascii: "[") else {
                throw RequestError(
                    .invalidRequest(.ipv6AddressNotSupported),
                    detail: "\(target.host); URLSession on Linux needs a host name or an IPv4 address, and "
                        + "SocketExecutor connects to IPv6 addresses")
            }
            try checkTime()
            try checkDelivery()
        } catch {
            throw error.beforeSending()
        }
    }
}

extension URLSessionExecutor: CustomStringConvertible, CustomReflectable {
    /// The name of the type.
    public var description: String { "URLSessionExecutor" }

    /// The mirror that `dump` prints, without the sessions of the executor.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
