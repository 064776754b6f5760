extension OAuthServer {
    /// A device code, and the code and the address with which the user signs in on another device (RFC 8628 §3.2).
    ///
    /// No description contains the device code.
    public struct DeviceAuthorization: Sendable {
        /// The code that the user enters, in printable ASCII characters.
        public let userCode: String

        /// The address to open.
        public let verificationURI: URL

        /// The address that contains the user code, for a QR code; nil if there is none.
        public let completeVerificationURI: URL?

        /// The date at which the codes expire, at most 24 hours after the response.
        public let expiration: Date

        /// The minimum time between two requests, from 1 s to 1 hour.
        public let interval: Duration

        let deviceCode: String

        /// The maximum lifetime in seconds; servers send 15 to 30 minutes.
        static let longestLifetime = 86_400.0

        init(_ response: OAuthResponse, receivedAt date: Date) throws(RequestError) {
            deviceCode = try response.requiredText("device_code")
            userCode = try response.requiredText("user_code")
            guard let uri = try Self.address(in: response, "verification_uri") else {
                throw response.failure("“verification_uri” is missing")
            }
            verificationURI = uri
            completeVerificationURI = try Self.address(in: response, "verification_uri_complete")
            guard let lifetime = response.seconds("expires_in") else {
                throw response.failure("“expires_in” is not a number of seconds")
            }
            // The limit ends polling if a server sends a lifetime of years.
            expiration = date.addingTimeInterval(min(lifetime, Self.longestLifetime))
            // RFC 8628 §3.2: 5 s if there is none. An interval of 0 would send requests without a pause.
            interval = .seconds(min(max(1, response.seconds("interval") ?? 5), 3_600))
        }

        private static func address(in response: OAuthResponse, _ name: String) throws(RequestError) -> URL? {
            guard let text = try response.text(name) else { return nil }
            // The app opens the address, so it must not be another kind of URL.
            guard let target = try? TargetURI(text), ["http", "https"].contains(target.scheme),
                let url = URL(string: text)
            else { throw response.failure("“\(name)” is not the URL of a page") }
            return url
        }
    }
}

extension OAuthServer.DeviceAuthorization: CustomStringConvertible, CustomReflectable {
    /// The kind of the codes, without them.
    public var description: String { "OAuth device authorization" }

    /// The mirror that `dump` prints: the kind and the expiry.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": description, "expiration": expiration, "interval": interval])
    }
}

extension Client where API == OAuthServer {
    /// Waits until the user has signed in with a device code, and returns the tokens (RFC 8628 §3.4).
    ///
    /// The function sends a request after each ``OAuthServer/DeviceAuthorization/interval``, measured by
    /// ``OAuthServer/clock``. The interval grows by 5 s when the server responds with `slow_down`, and doubles when a
    /// request times out (RFC 8628 §3.5). The function ends when the codes expire, and at the latest when it has waited
    /// for their lifetime, even if the date of the system is set back; so it sends at most `lifetime / interval`
    /// requests. To end it earlier, cancel the task.
    ///
    /// ```swift
    /// let device = try await tokens.perform { $0.deviceAuthorization() }
    /// print("Open \(device.verificationURI) and enter \(device.userCode).")
    /// let credential = try await tokens.credential(for: device)
    /// ```
    ///
    /// - Throws: `RequestError` with `credentialsUnavailable` and ``OAuthServer/Failure/deviceCodeExpired`` or
    ///   ``OAuthServer/Failure/refused(_:)``, with `cancelled`, or with the reason why a request failed.
    public func credential(
        for device: OAuthServer.DeviceAuthorization
    ) async throws(RequestError) -> OAuthCredential {
        var interval = device.interval
        func timeLeft() -> Double { device.expiration.timeIntervalSince(api.clock.date()) }
        var waitingTime = min(timeLeft(), OAuthServer.DeviceAuthorization.longestLifetime)
        while true {
            // A request after the expiry would be refused, so there is no reason to wait for it.
            guard min(timeLeft(), waitingTime) > interval / .seconds(1) else {
                throw RequestError(OAuthServer.Failure.deviceCodeExpired)
            }
            waitingTime -= interval / .seconds(1)
            do {
                try await api.clock.sleep(interval)
            } catch {
                throw RequestError(.cancelled)
            }
            do throws(RequestError) {
                return try await perform { $0.deviceCode(of: device) }
            } catch {
                guard let next = error.nextInterval(after: interval) else { throw error }
                interval = min(next, .seconds(3_600))
            }
        }
    }
}

extension RequestError {
    /// Returns the time to wait after this error of a request for the tokens of a device; nil if the error is final.
    fileprivate func nextInterval(after interval: Duration) -> Duration? {
        if case .timedOut = reason { return interval * 2 }
        guard case .refused(let refusal)? = oauthFailure else { return nil }
        return switch refusal.code {
        case .authorizationPending: interval
        case .slowDown: interval + .seconds(5)
        case .expiredToken, _: nil
        }
    }
}
