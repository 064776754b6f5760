import RequestsMiddleware
import RequestsMock
import RequestsSocket

// A House test checks that each declaration after “Article” is in that article, line for line.

// Article: GettingStarted.md
func values<E: Endpoint>(
    of endpoints: [E], from client: Client<E.API>, limit: Int = 8
) async throws -> [E.Resource] where E.Resource: Sendable {
    try await withThrowingTaskGroup(of: (Int, E.Resource).self) { group in
        var values: [Int: E.Resource] = [:]
        for (index, endpoint) in endpoints.enumerated() {
            if index >= limit, let (done, value) = try await group.next() {
                values[done] = value
            }
            group.addTask {
                (index, try await client.perform(endpoint))
            }
        }
        for try await (done, value) in group { values[done] = value }
        return endpoints.indices.compactMap { values[$0] }
    }
}

// Article: ChoosingAnExecutor.md
func executor(named name: String) -> any RequestExecutor {
    switch name {
    case "memory": MockExecutor(.ok())
    case "socket": SocketExecutor()
    default: SocketExecutor().decodingContent()
    }
}
