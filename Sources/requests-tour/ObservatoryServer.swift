@_spi(Lock) import Requests
import RequestsMock

/// The server of the observatory: a function from request to response, the same in memory and behind a socket.
struct ObservatoryServer: Sendable {
    static let token = "stargazer-7"
    static let expiredToken = "stargazer-6"
    static let password = "open-sesame"

    private let bodies: [CelestialBody]
    /// The number of requests for the forecast.
    private let forecasts = SharedCount()

    private final class SharedCount: Sendable {
        private let count = Lock(0)

        /// Returns the number after adding one.
        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    init() throws {
        bodies = try JSONDecoder().decode([CelestialBody].self, from: Data(PackageResources.bodies_json))
    }

    var executor: MockExecutor { MockExecutor { request in try response(to: request) } }

    private func response(to request: PreparedRequest) throws -> MockResponse {
        let segments = request.target.path.split(separator: "/").map(PercentEncoding.decode)
        switch (request.method, segments.first ?? "", segments.dropFirst().first) {
        case (.get, "bodies", let name?): return try body(called: name)
        case (.get, "bodies", nil): return try .json(list(request.target.query ?? ""))
        case (.get, "planets", let name?): return .redirect(301, to: "/bodies/\(name)")
        case (.post, "observations", nil): return try record(request)
        case (.delete, "observations", _?): return .status(204)
        case (.get, "me", nil): return try identify(request)
        case (.post, "token", nil): return isVera(request) ? .ok(Self.token) : .status(401)
        case (.post, "oauth", "token"?): return issueToken(request)
        case (.get, "forecast", nil): return forecast
        case (.get, "almanac", nil): return almanac(request)
        case (.get, "motto", nil): return .ok("Ad astra per aspera")
        case (.get, "log", nil): return log
        case (.get, "images", "saturn.png"): return .data(Data(PackageResources.saturn_png), contentType: .png)
        default: return .status(404, "There is nothing at \(request.target.path).")
        }
    }

    private func body(called name: String) throws -> MockResponse {
        guard let body = bodies.first(where: { $0.name == name }) else {
            return .status(404, "No body is called \(name).")
        }
        return try .json(body)
    }

    private func list(_ query: String) -> [CelestialBody] {
        let nearer = query.split(separator: "&").first { $0.hasPrefix("nearer=") }.flatMap { Double($0.dropFirst(7)) }
        return bodies.filter { $0.distance < nearer ?? .infinity }.sorted { $0.distance < $1.distance }
    }

    private func record(_ request: PreparedRequest) throws -> MockResponse {
        guard request.header[.authorization] == "Bearer \(Self.token)", case .bytes(let data) = request.body else {
            return .status(401)
        }
        var observation = try JSONDecoder().decode(Observation.self, from: data)
        observation.number = 1
        return try .json(observation, status: 201)
    }

    private func identify(_ request: PreparedRequest) throws -> MockResponse {
        try isVera(request) ? .json(Observer(name: "vera")) : .status(401)
    }

    private func isVera(_ request: PreparedRequest) -> Bool {
        let expected = Data("vera:\(Self.password)".utf8).base64EncodedString()
        return request.header[.authorization] == "Basic \(expected)"
    }

    /// Returns a token that has been revoked for a password, and a valid one for a refresh token.
    private func issueToken(_ request: PreparedRequest) -> MockResponse {
        let client = Data("tour:\(Self.password)".utf8).base64EncodedString()
        guard request.header[.authorization] == "Basic \(client)", case .bytes(let data) = request.body else {
            return .status(401, #"{"error": "invalid_client"}"#, contentType: .json)
        }
        let form = Set(String(decoding: data, as: UTF8.self).split(separator: "&"))
        let token: String
        if form.isSuperset(of: ["grant_type=password", "username=vera", "password=open-sesame"]) {
            token = Self.expiredToken
        } else if form.isSuperset(of: ["grant_type=refresh_token", "refresh_token=astrolabe"]) {
            token = Self.token
        } else {
            return .status(400, #"{"error": "invalid_grant"}"#, contentType: .json)
        }
        let text = #"{"access_token": "\#(token)", "token_type": "Bearer", "refresh_token": "astrolabe"}"#
        return .ok(text, contentType: .json)
    }

    /// The forecast; every other request has no response.
    private var forecast: MockResponse {
        var response = MockResponse.ok("Clear skies")
        if forecasts.next() % 2 == 1 { response.delay = .endless }
        return response
    }

    /// Returns the almanac, which a cache may use for an hour without validation.
    private func almanac(_ request: PreparedRequest) -> MockResponse {
        let tag = "\"2026\""
        let isCurrent = request.header[.ifNoneMatch] == tag
        return (isCurrent ? MockResponse.status(304) : .ok("Sunrise 7:29, sunset 16:21"))
            .adding(headerField: Field(name: .cacheControl, value: "max-age=3600"))
            .adding(headerField: Field(name: .etag, value: tag))
    }

    /// The log, in chunks that do not end at its lines.
    private var log: MockResponse {
        let text = PackageResources.log_txt
        let chunks = stride(from: 0, to: text.count, by: 50).map { Data(text[$0..<min($0 + 50, text.count)]) }
        return MockResponse(
            header: [.contentType(.plainText)], body: [.chunks(count: chunks.count) { chunks[$0] }])
    }
}
