import Requests
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer

/// Performs every stop in every environment and checks that all agree.
struct Tour {
    let page: TourPage
    /// What performs over TCP.
    let executor: any RequestExecutor

    /// An environment: its name and the client, the one value that differs.
    private struct Setting {
        let name: String
        let client: Client<Observatory>
    }

    /// Prints the tour; false when two environments disagree.
    func run() async throws -> Bool {
        let script = try ObservatoryServer().executor
        let folder = FileManager.default.temporaryDirectory.appending(path: "requests-tour-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.path + "/socket"
        return try await withTestServer(serving: script) { server in
            try await withTestServer(serving: script, on: .unix(path: socket)) { _ in
                let api = Observatory.at(server.baseURL)
                return try await visitAll(
                    [
                        Setting(name: "in memory", client: Client(api, executor: script)),
                        Setting(name: "TCP", client: Client(api, executor: executor)),
                        Setting(
                            name: "unix socket", client: Client(api, executor: SocketExecutor(.unix(path: socket)))),
                    ], savingInto: folder.path)
            }
        }
    }

    private func visitAll(_ settings: [Setting], savingInto folder: String) async throws -> Bool {
        print(page.opening(baseURL: settings[0].client.api.baseURL, environments: settings.map(\.name)))
        let stops = Stop.all(savingInto: folder)
        var disagreements = 0
        for (index, stop) in stops.enumerated() {
            var visits: [Visit] = []
            var wires: Set<String> = []
            for setting in settings {
                wires.insert(try stop.prepare(setting.client).wireText)
                visits.append(try await visit(stop, in: setting))
            }
            if wires.count > 1 || Set(visits.map(\.value)).count > 1 { disagreements += 1 }
            print(page.stop(number: index + 1, stop, wire: wires.sorted().joined(separator: "\n"), visits: visits))
        }
        print(page.closing(stops: stops.count, environments: settings.count, disagreements: disagreements))
        return disagreements == 0
    }

    private func visit(_ stop: Stop, in setting: Setting) async throws -> Visit {
        let start = ContinuousClock.now
        let value = try await stop.visit(setting.client)
        return Visit(environment: setting.name, value: value, duration: .now - start)
    }
}
