@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("OAuth device codes", .tags(.concurrent), .timeLimit(.minutes(10)))
struct OAuthDeviceTests {
    private let clock = DateClock()

    private func deviceJSON(_ members: String = "\"expires_in\": 100, \"interval\": 5") -> String {
        """
        {"device_code": "planted-device", "user_code": "WDJB-MJHT", \
        "verification_uri": "https://e.com/device", \
        "verification_uri_complete": "https://e.com/device?user_code=WDJB-MJHT", \(members)}
        """
    }

    private func device(_ json: String) async -> Result<OAuthServer.DeviceAuthorization, RequestError> {
        let (client, _) = tokenClient(.test(clock: clock), .json(json))
        do throws(RequestError) {
            return .success(try await client.perform { $0.deviceAuthorization(scope: "a") })
        } catch {
            return .failure(error)
        }
    }

    /// Signs in with a device code whose requests have the responses `steps`.
    private func signIn(
        _ members: String = "\"expires_in\": 100, \"interval\": 5", _ steps: ResponseScript.Step...
    ) async throws -> (Result<OAuthCredential, RequestError>, MockExecutor) {
        let device = try await device(deviceJSON(members)).get()
        let script = ResponseScript(steps)
        let client = Client(OAuthServer.test(clock: clock), executor: script.executor)
        do throws(RequestError) {
            return (.success(try await client.credential(for: device)), script.executor)
        } catch {
            return (.failure(error), script.executor)
        }
    }

    @Test("a device code is requested, and its response read (RFC 8628 §3.1 and §3.2)", .rows("AF-64"))
    func request() async throws {
        let (client, executor) = tokenClient(.test(client: .publicClient(id: "tv"), clock: clock), .json(deviceJSON()))
        let device = try await client.perform { $0.deviceAuthorization(scope: "a") }
        #expect(device.userCode == "WDJB-MJHT" && device.verificationURI.absoluteString == "https://e.com/device")
        #expect(device.completeVerificationURI?.absoluteString == "https://e.com/device?user_code=WDJB-MJHT")
        #expect(device.expiration == clock.start + 100 && device.interval == .seconds(5))
        let request = try #require(executor.recordedRequests.first)
        #expect(request.target.absoluteString == "https://login.e.com/device")
        #expect(try request.form == ["scope=a", "client_id=tv"])
        let poll = try OAuthServer.test(client: .publicClient(id: "tv")).deviceCode(of: device).prepared()
        #expect(
            try poll.form == [
                "grant_type=urn:ietf:params:oauth:grant-type:device_code", "device_code=planted-device",
                "client_id=tv",
            ])
    }

    @Test(
        "the interval has a default and limits (RFC 8628 §3.2)",
        arguments: [("", 5), (", \"interval\": 0", 1), (", \"interval\": 7", 7), (", \"interval\": 1e18", 3_600)])
    func intervals(members: String, seconds: Int) async throws {
        let device = try await device(deviceJSON("\"expires_in\": 1e18\(members)")).get()
        #expect(device.interval == .seconds(seconds))
    }

    @Test(
        "a malformed device response is an error (RFC 8628 §3.2)",
        arguments: [
            "{}", "[]", "<html>", "{\"device_code\": \"planted\"}", "{\"error\": \"invalid_scope\"}",
            """
            {"device_code": "planted", "user_code": "a", "verification_uri": "javascript:alert(1)", "expires_in": 1}
            """,
            "{\"device_code\": \"planted\", \"user_code\": \"a\", \"verification_uri\": \"https://e.com\"}",
            """
            {"device_code": "planted", "user_code": "a", "verification_uri": "https://e.com", "expires_in": "9 s"}
            """,
            """
            {"device_code": "planted", "user_code": "a\\u001b[2J", "verification_uri": "https://e.com", "expires_in": 1}
            """,
            """
            {"device_code": "planted", "user_code": "a", "verification_uri": "https://e.com", "expires_in": -1}
            """,
        ])
    func malformed(json: String) async {
        guard case .failure(let error) = await device(json) else {
            Issue.record("accepted: \(json)")
            return
        }
        #expect(error.oauthFailure != nil && !error.debugDescription.contains("planted"))
    }

    @Test(
        "polling waits for the interval, 5 s more after slow_down, and twice as long after a timeout (RFC 8628 §3.5)",
        .rows("AF-64"))
    func polling() async throws {
        let (result, executor) = try await signIn(
            "\"expires_in\": 1000, \"interval\": 3", .refusal("authorization_pending"), .refusal("slow_down"),
            .refusal("authorization_pending"), .failure(RequestError(.timedOut(.firstByte))), .json(tokenJSON()))
        #expect(try result.get().accessToken == "planted-access")
        #expect(clock.sleeps == [3, 3, 8, 8, 16].map { .seconds($0) } && executor.recordedCount == 5)
    }

    @Test("polling ends at the expiry of the codes, without a request after it (RFC 8628 §3.5)")
    func expiry() async throws {
        let (result, executor) = try await signIn(
            "\"expires_in\": 16, \"interval\": 5", .refusal("authorization_pending"))
        guard case .failure(let error) = result else {
            Issue.record("signed in")
            return
        }
        #expect(error.oauthFailure == .deviceCodeExpired && executor.recordedCount == 3)
        #expect(clock.sleeps.count == 3)
    }

    @Test(
        "polling is limited to a day, whatever the lifetime of the codes is (RFC 8628 §3.5)",
        arguments: ["1e18", "\"99999999\""])
    func longLifetime(lifetime: String) async throws {
        let (result, executor) = try await signIn(
            "\"expires_in\": \(lifetime), \"interval\": 60", .refusal("authorization_pending"))
        guard case .failure(let error) = result else {
            Issue.record("signed in")
            return
        }
        // 86,400 s / 60 s, and none at the expiry itself.
        #expect(error.oauthFailure == .deviceCodeExpired && executor.recordedCount == 1_439)
    }

    @Test("polling ends although the date of the system does not advance, or is set back (RFC 8628 §3.5)")
    func stoppedClock() async throws {
        let device = try await device(deviceJSON()).get()
        for change in [0.0, -3_600] {
            let date = Lock(clock.start)
            let (client, executor) = tokenClient(.test(clock: clock), .refusal("authorization_pending"))
            var server = client.api
            server.clock = Retrying.Clock(
                date: { date.withLock { $0 } }, sleep: { _ in date.withLock { $0 += change } })
            let error = await failure { () async throws(RequestError) in
                try await Client(server, executor: executor).credential(for: device)
            }
            #expect(error?.oauthFailure == .deviceCodeExpired && executor.recordedCount == 19)
        }
    }

    @Test("polling ends with the error of the server or the exchange (RFC 8628 §3.5)")
    func errors() async throws {
        for code in ["access_denied", "expired_token", "invalid_grant", "unknown"] {
            let (result, executor) = try await signIn(
                "\"expires_in\": 100", .refusal("authorization_pending"), .refusal(code))
            guard case .failure(let error) = result, case .refused(let refusal)? = error.oauthFailure else {
                Issue.record("no refusal for \(code)")
                continue
            }
            #expect(refusal.code.rawValue == code && executor.recordedCount == 2)
        }
        let (lost, executor) = try await signIn("\"expires_in\": 100", .failure(RequestError(.connectionFailed)))
        guard case .failure(let error) = lost else { return }
        #expect(error.reason == .connectionFailed && executor.recordedCount == 1)
    }

    @Test("cancelling ends polling during a wait")
    func cancellation() async throws {
        let device = try await device(deviceJSON()).get()
        let (client, executor) = tokenClient(.test(clock: clock), .refusal("authorization_pending"))
        let task = Task {
            await failure { () async throws(RequestError) in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await client.credential(for: device)
            }
        }
        #expect(await task.value?.isCancellation == true && executor.recordedCount == 0)
    }
}
