import RequestsSocket

// A command-line tool without `await`: it sends a GET to a URL and prints the text of the response.
struct Usage: Error {}

guard let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text) else { throw Usage() }
let request = Request(method: .get, baseURL: url).receiving(.text).with(timeouts: Timeouts(total: .seconds(10)))
print(try SocketExecutor().performAndWait(request))
