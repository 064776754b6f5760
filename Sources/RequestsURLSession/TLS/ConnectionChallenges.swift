/// The responses of an executor to challenges about the connection (ServerTrust and ClientCertificate).
struct ConnectionChallenges: Sendable {
    /// The settings for evaluating servers; nil leaves that to the system.
    let tls: SessionTLSSettings?
    let handler: URLSessionExecutor.ChallengeHandler?

    /// Checks that the platform can keep the settings, and loads them.
    ///
    /// - Throws: `RequestError` with `invalidTLSConfiguration`.
    func prepare() throws(RequestError) {
        guard Platform.hasConnectionChallenges || tls == nil && handler == nil else {
            // The app may rely on either of them to refuse servers.
            let setting = tls == nil ? "never calls a challenge handler" : "has no settings for TLS"
            throw SessionTLS.invalid("URLSession on Linux \(setting); use SocketExecutor and its TLS settings")
        }
        try tls?.load()
    }

    /// Returns the response to a challenge for `exchange`, which ends if its server is refused.
    func response(
        to challenge: URLAuthenticationChallenge, of exchange: SessionExchange?
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let server = tls?.loaded.flatMap { Platform.evaluation(challenge, with: $0) }
        if let refusal = server?.refusal {
            exchange?.refuseServer(refusal)
            return (.cancelAuthenticationChallenge, nil)
        }
        let response = handler?(challenge) ?? (.performDefaultHandling, nil)
        // The system's own decision would ignore the settings.
        guard let server, response.0 == .performDefaultHandling else { return response }
        return (.useCredential, server.credential)
    }
}

/// The result of evaluating a server with the TLS settings of an executor.
struct ServerEvaluation {
    /// The reason why the server is refused; nil if it is accepted.
    let refusal: RequestError?
    /// The credential with which a session accepts it.
    let credential: URLCredential
}
