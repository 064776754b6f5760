import RequestsSocket

// A command-line tool without a single await: it GETs the URL it is given and prints the text.
struct Usage: Error {}

guard let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text) else { throw Usage() }
let request = Request(method: .get, baseURL: url).receiving(.text).with(timeouts: Timeouts(total: .seconds(10)))
print(try SocketExecutor().performAndWait(request))
