import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsURLSession

let usage = """
    usage: requests-tour [--executor NAME]        perform one API in memory, over TCP with NAME, a unix socket and TLS
           requests-tour [--executor NAME] URL    send a GET to URL and print the response
    NAME: socket, urlsession
    """

/// The action that the command line requests.
enum Command {
    case tour(any RequestExecutor)
    case fetch(URL, executor: any RequestExecutor)
    case help(String)

    init(_ arguments: [String]) {
        var remaining = arguments
        var executor: any RequestExecutor = SocketExecutor()
        if let option = remaining.firstIndex(of: "--executor") {
            guard option + 1 < remaining.count, let named = Self.executor(named: remaining[option + 1]) else {
                self = .help("unknown executor; use socket or urlsession")
                return
            }
            executor = named
            remaining.removeSubrange(option...option + 1)
        }
        switch remaining.count {
        case 0: self = .tour(executor)
        case 1 where !remaining[0].hasPrefix("-"):
            let url = URL(string: remaining[0])
            self = url.map { .fetch($0, executor: executor) } ?? .help("invalid URL: \(remaining[0])")
        default: self = .help("unexpected arguments: \(remaining.joined(separator: " "))")
        }
    }

    private static func executor(named name: String) -> (any RequestExecutor)? {
        switch name {
        case "socket": SocketExecutor()
        case "urlsession": URLSessionExecutor()
        default: nil
        }
    }
}

let style = Style(isColored: Terminal.wantsColor(Terminal.standardOutput))

switch Command(Array(CommandLine.arguments.dropFirst())) {
case .help(let problem):
    print(problem)
    print(usage)
    terminate(2)
case .fetch(let url, let executor):
    do throws(RequestError) {
        print(try await Fetch(style: style, executor: executor).report(on: url))
    } catch {
        print(style.red(error.debugDescription))
        terminate(1)
    }
case .tour(let executor):
    terminate(try await Tour(page: TourPage(style: style), executor: executor).run() ? 0 : 1)
}
