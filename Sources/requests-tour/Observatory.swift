import Requests

/// The API of the tour: bodies of the solar system, a log, an image, and the notes of an observer.
enum Observatory: RequestProviding {
    case at(URL)

    var baseURL: URL {
        switch self {
        case .at(let url): url
        }
    }

    /// Returns a request that names the program, as a request with an API key would.
    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Observatory, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
            .adding(headerField: .userAgent("requests-tour"))
    }
}

/// A body of the solar system.
struct CelestialBody: Codable, Equatable {
    let name: String
    /// The distance from the Sun in astronomical units.
    let distance: Double
    /// The diameter in kilometers.
    let diameter: Int
    let moons: Int
}

extension CelestialBody: CustomStringConvertible {
    var description: String { "\(name): \(distance) au from the Sun, \(diameter) km across, moons: \(moons)" }
}

/// An observation, to which the server assigns a number.
struct Observation: Codable, Equatable {
    var number: Int?
    let body: String
    let note: String
}

extension Observation: CustomStringConvertible {
    var description: String { "no. \(number.map(String.init) ?? "–"), \(body): “\(note)”" }
}

/// The user to whom the credentials of a request belong.
struct Observer: Codable, Equatable {
    let name: String
}

/// The endpoints whose response is one celestial body, as an enum with one line for each case.
enum Bodies: Endpoint, CaseIterable {
    case comet, moved, missing

    func request(from api: Observatory) -> Request<Observatory, CelestialBody> {
        switch self {
        case .comet: api.get(.json(), from: "/bodies/\("67P/Churyumov–Gerasimenko")")
        case .moved: api.get(.json(), from: "/planets/\("Saturn")")
        case .missing: api.get(.json(), from: "/bodies/\("Vulcan")")
        }
    }
}

// Calls: each has its own result type.

extension Call<Observatory, [CelestialBody]> {
    static func bodies(nearerThan distance: Double) -> Self {
        Call { $0.get(.json(), from: "/bodies").with(query: ["nearer": distance, "order": "distance"]) }
    }
}

extension Call<Observatory, Observation> {
    static func record(_ observation: Observation, token: String) -> Self {
        Call { api in
            api.post(.json(observation), to: "/observations", receiving: .json())
                .authenticated(with: .bearerToken(token))
        }
    }
}

extension Call<Observatory, Observation> {
    /// Records an observation with the credentials of the client.
    static func record(_ observation: Observation) -> Self {
        Call { $0.post(.json(observation), to: "/observations", receiving: .json()) }
    }
}

extension Call<Observatory, Observer> {
    static func whoAmI(name: String, password: String) -> Self {
        Call { $0.get(.json(), from: "/me").authenticated(with: .basicAuth(username: name, password: password)) }
    }
}

extension Call<Observatory, String> {
    static var motto: Self { Call { $0.get(.text, from: "/motto") } }

    static var forecast: Self { Call { $0.get(.text, from: "/forecast") } }

    static var almanac: Self { Call { $0.get(.text, from: "/almanac") } }

    static func newToken(name: String, password: String) -> Self {
        Call { api in
            api.post(.none, to: "/token", receiving: .text)
                .authenticated(with: .basicAuth(username: name, password: password))
        }
    }
}

extension Call<Observatory, ResponseStream.Lines> {
    static var log: Self { Call { $0.get(.lines, from: "/log") } }
}

extension Call<Observatory, URL> {
    static func image(savingTo path: String) -> Self {
        Call { $0.get(.download(to: URL(filePath: path)), from: "/images/saturn.png") }
    }
}

extension Call<Observatory, Void> {
    static func forget(_ number: Int) -> Self { Call { $0.delete("/observations/\(number)") } }
}
