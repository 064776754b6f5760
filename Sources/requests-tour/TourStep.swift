import Dispatch
@_spi(Lock) import Requests
import RequestsMiddleware

/// A step of the tour: its title, the request it describes, and the text of its result.
struct TourStep: Sendable {
    let title: String
    /// A function that returns the request without sending it.
    let prepare: @Sendable (Client<Observatory>) throws(RequestError) -> PreparedRequest
    /// A function that performs the request and returns the result as text.
    let perform: @Sendable (Client<Observatory>) async throws(RequestError) -> String

    /// Creates a step that performs `endpoint` and shows its value as the text that `show` returns.
    init<E: Endpoint>(
        _ title: String, _ endpoint: E, show: @escaping @Sendable (E.Resource) async throws(RequestError) -> String
    ) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in try await show(client.perform(endpoint)) }
    }

    /// Creates a step that performs `endpoint` and shows the error with which it fails.
    init<E: Endpoint>(failing title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            do throws(RequestError) {
                _ = try await client.perform(endpoint)
                return "expected an error, got a response"
            } catch {
                return "\(error)"
            }
        }
    }

    /// Creates a step that performs `endpoint` three times: awaited, with a completion handler and blocking.
    init<E: Endpoint>(callStyles title: String, _ endpoint: E)
    where E.API == Observatory, E.Resource: Equatable & Sendable {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            let awaited = try await client.perform(endpoint)
            let completed = await withCheckedContinuation { continuation in
                client.perform(endpoint, on: Self.queue) { continuation.resume(returning: $0) }
            }
            let blocking = await withCheckedContinuation { continuation in
                // A blocking call must not occupy a thread of the concurrency pool.
                Self.queue.async {
                    continuation.resume(
                        returning: Result { () throws(RequestError) in try client.responseAndWait(for: endpoint) })
                }
            }
            let agree = try [completed.get().value, blocking.get().value].allSatisfy { $0 == awaited }
            return agree ? "awaited, with a completion handler and blocking: \(awaited)" : "the results differ"
        }
    }

    /// Creates a step that performs `endpoint` with a token that has expired, which the server rejects once.
    init<E: Endpoint>(renewing title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            let authenticator = RefreshableAuthenticator(bearerToken: ObservatoryServer.expiredToken) { _ in
                try await client.perform(.newToken(name: "vera", password: ObservatoryServer.password))
            }
            let value = try await client.authenticating(with: authenticator).perform(endpoint)
            let isRenewed = authenticator.credential == ObservatoryServer.token
            return "\(isRenewed ? "with a new token" : "with the old token"): \(value)"
        }
    }

    /// Creates a step that signs in with OAuth.
    ///
    /// It is rejected once, because the server has revoked the token, and sends the request again with a renewed token.
    init<E: Endpoint>(signingIn title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            let server = OAuthServer(
                tokenEndpoint: client.api.baseURL.appending(path: "oauth/token"),
                client: .basic(id: "tour", secret: ObservatoryServer.password))
            let tokens = Client(server, executor: client.executor)
            let credential = try await tokens.perform {
                $0.password(username: "vera", password: ObservatoryServer.password)
            }
            let authenticator = RefreshableAuthenticator(credential, from: tokens)
            let value = try await client.authenticating(with: authenticator).perform(endpoint)
            let isRenewed = authenticator.credential != credential
            return "signed in, \(isRenewed ? "renewed" : "not renewed"): \(value)"
        }
    }

    /// Creates a step that performs `endpoint`; the server never responds to its first request.
    init<E: Endpoint>(hedging title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            let hedged = Client(client.api, executor: client.executor.hedging(after: .milliseconds(20)))
            return "“\(try await hedged.perform(endpoint))”, from the second request"
        }
    }

    /// Creates a step that performs `endpoint` three times with a cache, the last time with a validation.
    init<E: Endpoint>(caching title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            let cached = Client(client.api, executor: client.executor.caching())
            let policies: [PreparedRequest.CachePolicy] = [
                .useProtocolCachePolicy, .useProtocolCachePolicy, .reloadRevalidatingCacheData,
            ]
            var uses: [String] = []
            for policy in policies {
                let response = try await cached.response { endpoint.request(from: $0).with(cachePolicy: policy) }
                let status = response.metrics.cacheStatus
                uses.append(status?.isHit == true ? "stored" : "status \(status?.forwardedStatus?.code ?? 0)")
            }
            return uses.joined(separator: ", ")
        }
    }

    /// Creates a step that performs `endpoint` and shows the first line of each message in its trace.
    init<E: Endpoint>(tracing title: String, _ endpoint: E) where E.API == Observatory {
        self.title = title
        prepare = { client throws(RequestError) in try client.preparedRequest(for: endpoint) }
        perform = { client async throws(RequestError) in
            let lines = Lock<[String]>([])
            let trace = RequestLogging.trace { entry in
                lines.withLock { $0 += entry.lines.filter { $0.contains("HTTP") && !$0.hasPrefix("*") } }
            }
            _ = try await Client(client.api, executor: client.executor.observing(.attempts, by: trace))
                .perform(endpoint)
            // In memory, a response has no version of HTTP.
            return lines.withLock { $0.joined(separator: " … ").replacing("HTTP/1.1", with: "HTTP") }
        }
    }

    private static let queue = DispatchQueue(label: "tour.calls")
}

extension TourStep {
    /// Returns the steps of the tour in order; downloads are saved in `directory`.
    static func all(savingTo directory: String) -> [TourStep] {
        [
            TourStep("A query, and an array of JSON objects", Call.bodies(nearerThan: 6)) { bodies in
                "\(bodies.count) bodies: " + bodies.map(\.name).joined(separator: ", ")
            },
            TourStep("A path value, encoded within its segment", Bodies.comet) { "\($0)" },
            TourStep("A JSON body and a bearer token", Call.record(sighting, token: ObservatoryServer.token)) {
                "\($0)"
            },
            TourStep("Basic credentials", Call.whoAmI(name: "vera", password: ObservatoryServer.password)) { $0.name },
            TourStep("Plain text", Call.motto) { "“\($0)”" },
            TourStep("A redirect that is followed", Bodies.moved) { "\($0)" },
            TourStep(failing: "An error response, with its body", Bodies.missing),
            TourStep("A streamed response, line by line", Call.log) { lines throws(RequestError) in
                var years: [Substring] = []
                for try await line in lines { years.append(line.prefix(4)) }
                return "\(years.count) lines, from \(years.first ?? "?") to \(years.last ?? "?")"
            },
            TourStep("A download to a file", Call.image(savingTo: directory + "/saturn.png")) {
                url throws(RequestError) in
                let image = try RequestError.wrapping(.other) { try Data(contentsOf: url) }
                let isPNG = image.starts(with: [0x89, 0x50, 0x4E, 0x47])
                return "\(url.lastPathComponent), \(image.count) bytes, \(isPNG ? "a PNG image" : "not a PNG image")"
            },
            TourStep("A response without content", Call.forget(1)) { "done" },
            TourStep(callStyles: "One call in three styles", Bodies.comet),
            TourStep(renewing: "A token that is renewed after a 401", Call.record(sighting)),
            TourStep(signingIn: "A sign-in with OAuth, refused once", Call.record(sighting)),
            TourStep(hedging: "A second request when the first is slow", Call.forecast),
            TourStep(caching: "A response from a cache, stored and validated", Call.almanac),
            TourStep(tracing: "A trace of the messages", Call.motto),
        ]
    }

    private static let sighting = Observation(body: "Saturn", note: "The rings are tilted 4° tonight.")
}
