import Dispatch
import RequestsSocket

// The module is on the main actor by default (`.defaultIsolation(MainActor.self)`), as in an app. Only the models are
// annotated: they are `nonisolated`.

nonisolated struct Greeting: Codable, Sendable {
    let text: String

    init(text: String) {
        self.text = text
    }

    init(from decoder: any Decoder) throws {
        // Decoding does not run on the main actor's thread.
        dispatchPrecondition(condition: .notOnQueue(.main))
        text = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text)
    }

    func encode(to encoder: any Encoder) throws {
        dispatchPrecondition(condition: .notOnQueue(.main))
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(text, forKey: .text)
    }

    enum CodingKeys: String, CodingKey { case text }
}

enum Greeter: RequestProviding {
    case at(URL)
    var baseURL: URL {
        switch self {
        case .at(let url): url
        }
    }
}

enum Greetings: Endpoint {
    case echo(Greeting)
    func request(from api: Greeter) -> Request<Greeter, Greeting> {
        switch self {
        case .echo(let greeting): api.post(.json(greeting), to: "/echo", receiving: .json())
        }
    }
}

final class ViewModel {
    private let client: Client<Greeter>
    private(set) var texts: [String] = []

    init(_ client: Client<Greeter>) { self.client = client }

    func load() async throws {
        texts.append(try await client.perform(Greetings.echo(Greeting(text: "async"))).text)
    }

    func load(then finished: @escaping () -> Void) {
        client.perform(Greetings.echo(Greeting(text: "callback"))) { result in
            self.texts.append((try? result.get().value.text) ?? "failed")
            finished()
        }
    }
}

@main
struct App {
    static func main() async throws {
        guard let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text) else { return }
        let model = ViewModel(Client(Greeter.at(url), executor: SocketExecutor()))
        try await model.load()
        await withCheckedContinuation { continuation in model.load { continuation.resume() } }
        print(model.texts.joined(separator: ", "))
    }
}
