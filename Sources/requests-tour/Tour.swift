import Requests
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer

/// A tour that performs every step in every environment and checks that the results agree.
struct Tour {
    let page: TourPage
    /// The executor for the environment over TCP.
    let executor: any RequestExecutor

    /// An environment: its name and its client; the environments differ in nothing else.
    private struct Environment {
        let name: String
        let client: Client<Observatory>

        /// The host and the port of its server.
        var authority: String { "127.0.0.1:\(client.api.baseURL.port ?? 80)" }
    }

    /// Prints the tour, and returns whether all environments agree.
    func run() async throws -> Bool {
        let responder = try ObservatoryServer().executor
        let directory = FileManager.default.temporaryDirectory.appending(path: "requests-tour-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let socket = directory.path + "/socket"
        return try await withTestServer(serving: responder) { server in
            try await withTestServer(serving: responder, on: .unix(path: socket)) { _ in
                let api = Observatory.at(server.baseURL)
                let environments = [
                    Environment(name: "in memory", client: Client(api, executor: responder)),
                    Environment(name: "TCP", client: Client(api, executor: executor)),
                    Environment(
                        name: "unix socket", client: Client(api, executor: SocketExecutor(.unix(path: socket)))),
                ]
                guard TestServer.supportsTLS else {
                    print("https is left out, because libssl is not installed")
                    return try await performAll(in: environments, savingTo: directory.path)
                }
                return try await withTestServer(serving: responder, tls: .init()) { server in
                    try await performAll(in: environments + [secured(server)], savingTo: directory.path)
                }
            }
        }
    }

    /// Returns the environment over TLS, which trusts the certificates of `server` and no others.
    private func secured(_ server: TestServer) -> Environment {
        var configuration = SocketExecutor.Configuration()
        configuration.tls = server.clientTLS
        let executor = SocketExecutor(configuration: configuration)
        return Environment(name: "https", client: Client(.at(server.baseURL), executor: executor))
    }

    private func performAll(in environments: [Environment], savingTo directory: String) async throws -> Bool {
        print(page.opening(baseURL: environments[0].client.api.baseURL, environments: environments.map(\.name)))
        let steps = TourStep.all(savingTo: directory)
        let baseURL = environments[0].client.api.baseURL
        var disagreements = 0
        for (index, step) in steps.enumerated() {
            var results: [StepResult] = []
            var wireTexts: Set<String> = []
            for environment in environments {
                let wireText = try step.prepare(environment.client).wireText
                wireTexts.insert(wireText.replacing(environment.authority, with: "127.0.0.1:\(baseURL.port ?? 80)"))
                results.append(try await perform(step, in: environment, comparedWith: baseURL))
            }
            if wireTexts.count > 1 || Set(results.map(\.value)).count > 1 { disagreements += 1 }
            let wireText = wireTexts.sorted().joined(separator: "\n")
            print(page.step(number: index + 1, title: step.title, wireText: wireText, results: results))
        }
        print(page.closing(steps: steps.count, environments: environments.count, disagreements: disagreements))
        return disagreements == 0
    }

    /// Performs a step; the result has `baseURL` in place of the environment's base URL.
    private func perform(
        _ step: TourStep, in environment: Environment, comparedWith baseURL: URL
    ) async throws -> StepResult {
        let start = ContinuousClock.now
        let value = try await step.perform(environment.client)
        let own = environment.client.api.baseURL.absoluteString
        return StepResult(
            environment: environment.name, value: value.replacing(own, with: baseURL.absoluteString),
            duration: .now - start)
    }
}
