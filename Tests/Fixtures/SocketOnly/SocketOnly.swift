import RequestsSocket

/// A command-line tool that uses only sockets: it sends a GET to a URL and prints the text of the response.
@main
struct SocketOnly {
    static func main() async throws {
        guard let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text) else {
            return print("usage: requests-socket-only URL")
        }
        print(try await SocketExecutor().perform(Request(method: .get, baseURL: url).receiving(.text)))
    }
}
