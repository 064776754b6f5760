import RequestsSocket

func push(_ text: String, to url: URL) async throws -> String {
    let service = AnonymousRequestProvider(baseURL: url)
    var configuration = SocketExecutor.Configuration()
    configuration.httpVersion = .http2PriorKnowledge
    let executor = SocketExecutor(configuration: configuration)
    return try await executor.perform(service.post(.text(text), to: "/device", receiving: .text))
}
