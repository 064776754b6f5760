import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsURLSession

let usage = """
    usage: requests-tour [--executor NAME]        the tour: one API in every environment, NAME performing over TCP
           requests-tour [--executor NAME] URL    GET a URL and print the answer
    NAME: socket, urlsession
    """

/// What the command line asks for.
enum Command {
    case tour(any RequestExecutor)
    case fetch(URL, executor: any RequestExecutor)
    case help(String)

    init(_ arguments: [String]) {
        var words = arguments
        var executor: any RequestExecutor = SocketExecutor()
        if let option = words.firstIndex(of: "--executor") {
            guard option + 1 < words.count, let named = Self.executor(named: words[option + 1]) else {
                self = .help("the executors are: socket, urlsession")
                return
            }
            executor = named
            words.removeSubrange(option...option + 1)
        }
        switch words.count {
        case 0: self = .tour(executor)
        case 1 where !words[0].hasPrefix("-"):
            self = URL(string: words[0]).map { .fetch($0, executor: executor) } ?? .help("no URL: \(words[0])")
        default: self = .help("not understood: \(words.joined(separator: " "))")
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

let style = Style(isColoured: Terminal.wantsColor(Terminal.standardOutput))

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
