import RequestsSocket

/// What a command-line tool with nothing but sockets looks like: it GETs the URL it is given and prints the text.
@main
struct SocketOnly {
    static func main() async throws {
        guard let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text) else {
            return print("usage: requests-socket-only URL")
        }
        print(try await SocketExecutor().perform(Request(method: .get, baseURL: url).receiving(.text)))
    }
}
