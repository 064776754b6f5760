/// A session delegate that passes each event to the exchange of its task.
///
/// On Linux the session calls it on its own queue (``Platform/delegateQueue()``). A call back into the session from
/// that queue would deadlock, so completion handlers of challenges run elsewhere, and tasks are cancelled there.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    let registry: ExchangeRegistry
    private let challenges: ConnectionChallenges

    init(_ challenges: ConnectionChallenges, _ registry: ExchangeRegistry) {
        self.registry = registry
        self.challenges = challenges
    }

    /// Refuses every redirect: `CallState` follows redirects by policy, above the executor (L2, L3).
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Foundation on Linux ends the process if the handler is called for a cancelled task. There, the handler is not
        // called once the exchange has ended, which is harmless. A cancellation waits for the session's queue, on which
        // this runs.
        if Platform.implementation == .darwin || registry[session, task]?.isActive == true { completionHandler(nil) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        var response: (URLSession.AuthChallengeDisposition, URLCredential?) = (.performDefaultHandling, nil)
        switch ChallengeDisposition(for: challenge.protectionSpace.authenticationMethod) {
        case .reject:
            registry[session, task]?.refuseChallenge()
            response.0 = .rejectProtectionSpace
        case .deferToHandler:
            response = challenges.response(to: challenge, of: registry[session, task])
            // Foundation on Linux ends the process if the credential is missing.
            if response.0 == .useCredential, response.1 == nil { response.0 = .performDefaultHandling }
        }
        registry.runOutsideSession { [response] in completionHandler(response.0, response.1) }
    }

    /// Supplies the body again.
    ///
    /// Otherwise Foundation on Linux sends what remains of the first stream, which is nothing, and the server waits for
    /// the body until a limit passes.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(registry[session, task]?.bodyStreamForResending())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        registry[session, task]?.didSend(Int(clamping: totalBytesSent))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        registry[session, dataTask]?.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        registry[session, dataTask]?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        registry[session, task]?.complete(task.response, error)
    }
}
