/// The rules for sending, waiting and renewing with refreshable credentials (PM-94), without a clock and without I/O.
///
/// A step that makes ``isRefreshing`` true begins a refresh; the type that applies the rules performs it.
///
/// At most one refresh is active. Each request has the generation of its credentials and the number of refreshes that
/// had ended. With these, a late rejection neither renews new credentials nor repeats a refresh that has failed since.
struct RefreshState<Credential: Sendable>: Sendable {
    enum Outcome: Sendable {
        case renewed
        /// There are no new credentials, so the rejecting response is returned.
        case refused
        case failed(any Error)
    }

    /// The validity of credentials, which a clock determines.
    enum Validity: Hashable {
        case valid, expiresSoon, expired
    }

    /// A value that identifies the credentials of one request.
    struct Token: Hashable, Sendable {
        let generation: Int
        let endedRefreshes: Int
    }

    enum StepBefore {
        case send(Credential, Token)
        /// Wait for the end of the refresh with this number.
        case wait(refresh: Int)
    }

    /// The action after a 401.
    enum StepAfter {
        /// Send the request again, because the credentials have changed since.
        case sendAgain
        /// Use the outcome of a refresh that has ended since.
        case use(Outcome)
        case wait(refresh: Int)
    }

    private(set) var credential: Credential?
    private(set) var generation = 0
    private(set) var isRefreshing = false
    /// The number of refreshes that have ended, which is also the index of the active or next one.
    private(set) var endedRefreshes = 0
    private(set) var lastOutcome = Outcome.refused
    /// The number of changes of the credentials, and of beginnings and ends of refreshes.
    private(set) var changes = 0
    /// The number of times that the credentials were replaced from outside, as opposed to renewed.
    private(set) var replacements = 0
    /// The generation that the active refresh renews.
    private var renewedGeneration = 0
    /// The generation whose renewal before its expiry was tried, successfully or not.
    private var earlyGeneration: Int?
    /// Whether the last refresh failed because its credentials had expired already.
    private var hasExpiredResult = false

    init(_ credential: Credential?) {
        self.credential = credential
    }

    /// Returns what to do before a request.
    ///
    /// - Parameters:
    ///   - validity: The validity of the credentials.
    ///   - holds: Whether requests wait for an active refresh.
    ///   - hasWaited: Whether the request has waited already; it is then sent with the present credentials.
    /// - Returns: The action; nil if there are no credentials after waiting.
    mutating func stepBefore(validity: Validity, holds: Bool, hasWaited: Bool) -> StepBefore? {
        guard let credential, validity != .expired || hasWaited else {
            return hasWaited ? nil : .wait(refresh: activeRefresh())
        }
        if isRefreshing, holds, !hasWaited { return .wait(refresh: activeRefresh()) }
        if validity == .expiresSoon, !isRefreshing, earlyGeneration != generation {
            // Once for each generation: a failure is not repeated by every request until the credentials expire.
            earlyGeneration = generation
            begin()
        }
        return .send(credential, Token(generation: generation, endedRefreshes: endedRefreshes))
    }

    /// Returns what to do after a 401 to a request whose credentials `token` identifies.
    mutating func stepAfter(rejectionOf token: Token) -> StepAfter {
        if token.generation != generation, !hasExpiredResult { return credential == nil ? .use(.refused) : .sendAgain }
        if !isRefreshing, token.endedRefreshes < endedRefreshes { return .use(lastOutcome) }
        return .wait(refresh: activeRefresh())
    }

    /// Returns the number of the active refresh, and begins one if there is none.
    mutating func activeRefresh() -> Int {
        if !isRefreshing { begin() }
        return endedRefreshes
    }

    private mutating func begin() {
        isRefreshing = true
        changes &+= 1
        renewedGeneration = generation
    }

    /// Ends the active refresh and returns its outcome.
    ///
    /// Credentials that have expired are a failure, but they are kept: the next refresh may need a part of them that
    /// the server has replaced, such as a refresh token.
    mutating func end(_ result: Result<Credential?, any Error>, isExpired: Bool) -> Outcome {
        isRefreshing = false
        changes &+= 1
        endedRefreshes += 1
        if generation != renewedGeneration {
            // Replaced in the meantime, for example by signing out, which the result must not reverse.
            lastOutcome = credential == nil ? .refused : .renewed
            return lastOutcome
        }
        hasExpiredResult = false
        switch result {
        case .success(let new?):
            credential = new
            generation += 1
            hasExpiredResult = isExpired
            lastOutcome = isExpired ? .failed(CredentialError.renewedCredentialExpired) : .renewed
        case .success(nil): lastOutcome = .refused
        case .failure(let error): lastOutcome = .failed(error)
        }
        return lastOutcome
    }

    mutating func replace(with new: Credential?) {
        credential = new
        hasExpiredResult = false
        changes &+= 1
        generation += 1
        replacements += 1
    }
}
