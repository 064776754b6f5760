/// Hears what a session tells and passes it to the exchange that it concerns.
///
/// On Linux it is called on the session's own queue (``Platform/delegateQueue()``), where a call back into the session
/// would wait for itself; so completion handlers of challenges are called from elsewhere, and tasks are cancelled there.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    let registry: ExchangeRegistry
    private let challengeHandler: URLSessionExecutor.ChallengeHandler?

    init(challengeHandler: URLSessionExecutor.ChallengeHandler?, gate: ConnectionGate) {
        registry = ExchangeRegistry(gate: gate)
        self.challengeHandler = challengeHandler
    }

    /// Refuses every redirect: `Perform` follows them by policy, above the executor (L2, L3).
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Foundation on Linux ends the process when a task is cancelled and then answers here. One that has been, or is
        // about to be, is left without an answer, which does no harm there.
        let isRefused = registry[session, task]?.whileUnderWay { completionHandler(nil) } ?? false
        if !isRefused, Platform.implementation == .darwin { completionHandler(nil) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        var answer: (URLSession.AuthChallengeDisposition, URLCredential?) = (.performDefaultHandling, nil)
        switch ChallengeDisposition(for: challenge.protectionSpace.authenticationMethod) {
        case .reject:
            registry[session, task]?.refuseChallenge()
            answer.0 = .rejectProtectionSpace
        case .handOver:
            answer = challengeHandler?(challenge) ?? answer
            // Foundation on Linux ends the process for it.
            if answer.0 == .useCredential, answer.1 == nil { answer.0 = .performDefaultHandling }
        }
        registry.outsideOfSession { [answer] in completionHandler(answer.0, answer.1) }
    }

    /// Gives the body once more: Foundation on Linux otherwise sends the rest of the first one, which is nothing, and the
    /// server waits for the body until a limit passes.
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
