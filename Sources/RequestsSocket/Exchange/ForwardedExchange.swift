import Requests

/// Requests that a proxy with an authenticator forwards, and that are sent again after its challenges.
enum ForwardedExchange {
    /// Returns whether the authenticator of a proxy provides credentials for `request`.
    static func signsIn(_ request: PreparedRequest, over handle: PoolHandle) -> Bool {
        guard let proxies = handle.pool.proxies, proxies.haveAuthenticators else { return false }
        return (try? proxies.route(to: request.target))?.signsIn(request) ?? false
    }

    /// Sends `request`, repeats it as the proxy's challenges require, and returns the last response.
    static func perform(_ request: PreparedRequest, over handle: PoolHandle) async throws(RequestError) -> RawResponse {
        guard var signIn = try handle.pool.proxies?.route(to: request.target)?.signIn(for: request) else {
            return try await Transmissions.perform(request, over: handle)
        }
        var earlier: [RawResponse.Metrics.Retry] = []
        while true {
            var response = try await transmission(of: request, signIn, after: earlier, over: handle)
            let start = Deadline.now
            response.metrics.retries.insert(contentsOf: earlier, at: 0)
            guard try isChallenged(&signIn, by: response, to: request) else { return response }
            await response.skipShortBody()
            let challenge = RawResponse.Metrics.Retry(
                cause: .rejected(response.head.status), delay: .nanoseconds(Deadline.now.nanoseconds(since: start)))
            earlier.append(challenge)
        }
    }

    private static func transmission(
        of request: PreparedRequest, _ signIn: ProxySignIn, after earlier: [RawResponse.Metrics.Retry],
        over handle: PoolHandle
    ) async throws(RequestError) -> RawResponse {
        let transmission = ForwardedTransmission(
            authorization: signIn.fieldValue.map { Field(name: .proxyAuthorization, value: $0) },
            isRepetition: !earlier.isEmpty)
        do throws(RequestError) {
            return try await Transmissions.perform(request, over: handle, as: transmission)
        } catch {
            throw error.adding(repetitions: earlier)
        }
    }

    /// Returns whether to send the request again.
    private static func isChallenged(
        _ signIn: inout ProxySignIn, by response: RawResponse, to request: PreparedRequest
    ) throws(RequestError) -> Bool {
        do throws(RequestError) {
            guard try signIn.continues(after: response.head) else { return false }
            guard request.body.isReplayable else {
                throw RequestError(.bodyNotReplayable, detail: "the proxy responded with \(response.head.status)")
            }
            return true
        } catch {
            throw error.adding(response: response.head).adding(secretsOfExecutor: response.secretsOfExecutor)
                .adding(repetitions: response.metrics.retries)
        }
    }
}
