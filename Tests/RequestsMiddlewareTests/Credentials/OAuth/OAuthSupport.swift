@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Testing

/// A clock whose date advances by the time that is slept.
final class DateClock: Sendable {
    private let state = Lock((elapsed: 0.0, sleeps: [Duration]()))
    let start = Date(timeIntervalSince1970: 1_700_000_000)

    /// The durations that were slept.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    var date: Date { start.addingTimeInterval(state.withLock { $0.elapsed }) }

    func advance(by duration: Duration) { state.withLock { $0.elapsed += duration / .seconds(1) } }

    var clock: Retrying.Clock {
        Retrying.Clock(
            date: { [self] in date },
            sleep: { [self] duration in
                try Task.checkCancellation()
                state.withLock {
                    $0.elapsed += duration / .seconds(1)
                    $0.sleeps.append(duration)
                }
            })
    }
}

extension OAuthServer {
    /// A server for tests with every endpoint.
    static func test(
        client: ClientCredentials = .basic(id: "app", secret: "planted-secret"), clock: DateClock = DateClock(),
        issuer: String? = nil
    ) -> OAuthServer {
        OAuthServer(
            tokenEndpoint: URL("https://login.e.com/token"),
            authorizationEndpoint: URL("https://login.e.com/authorize?tenant=1"),
            deviceAuthorizationEndpoint: URL("https://login.e.com/device"), issuer: issuer, client: client,
            clock: clock.clock)
    }
}

extension PreparedRequest {
    /// The items of the form in the body, in order and decoded.
    var form: [String] {
        get throws {
            guard case .bytes(let data) = body else { return [] }
            return String(decoding: data, as: UTF8.self).split(separator: "&").map(PercentEncoding.decode)
        }
    }
}

/// A token response with these members after a valid type and token.
func tokenJSON(_ members: String = "") -> String {
    "{\"access_token\": \"planted-access\", \"token_type\": \"bearer\"\(members.isEmpty ? "" : ", ")\(members)}"
}

/// Returns a client of an authorization server that responds as `steps` say.
func tokenClient(
    _ server: OAuthServer = .test(), _ steps: ResponseScript.Step...
) -> (Client<OAuthServer>, MockExecutor) {
    let script = ResponseScript(steps)
    return (Client(server, executor: script.executor), script.executor)
}

extension ResponseScript.Step {
    /// A response with an error of OAuth.
    static func refusal(_ code: String, status: HTTPStatus = 400) -> ResponseScript.Step {
        .response(.status(status, "{\"error\": \"\(code)\"}", contentType: .json))
    }
}
