import RequestsMiddleware
import RequestsMock
import RequestsSocket

// A House test checks that each declaration after “Article” is in that article, line for line.

// Article: GettingStarted.md
func users(
    _ logins: [String], from github: Client<GitHub>, limit: Int = 8
) async throws -> [User] {
    try await withThrowingTaskGroup(of: (Int, User).self) { group in
        var users: [Int: User] = [:]
        for (index, login) in logins.enumerated() {
            if index >= limit, let (done, user) = try await group.next() {
                users[done] = user
            }
            group.addTask {
                (index, try await github.perform(Users.named(login)))
            }
        }
        for try await (done, user) in group { users[done] = user }
        return logins.indices.compactMap { users[$0] }
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
