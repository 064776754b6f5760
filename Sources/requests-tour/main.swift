import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import RequestsURLSession

let usage = """
    usage: requests-tour [--executor NAME]        perform one API in memory, over TCP with NAME, a unix socket and TLS
           requests-tour [--executor NAME] URL    send a GET to URL and print the response
           requests-tour serve [PORT]             serve the API at 127.0.0.1 until the program is ended (Ctrl-C)
    NAME: socket, urlsession
    PORT: 8080 by default; with 0, the system chooses a free port
    """

/// The command that the arguments request.
enum Command {
    case tour(any RequestExecutor)
    case fetch(URL, executor: any RequestExecutor)
    case serve(port: Int)
    case help(String)

    init(_ arguments: [String]) {
        if arguments.first == "serve" {
            let text = arguments.dropFirst().joined(separator: " ")
            let port = text.isEmpty ? 8080 : UInt16(text)
            self = port.map { .serve(port: Int($0)) } ?? .help("invalid port: \(text)")
            return
        }
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
case .serve(let port):
    do {
        try await withTestServer(serving: ObservatoryServer().executor, on: .loopback(port: port)) { server in
            print("serving \(server.baseURL), for example /motto, /bodies and /bodies/Saturn; end with Ctrl-C")
            fflush(nil)  // into a pipe, text is written when a buffer is full
            let (neverEnding, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in neverEnding {}
            withExtendedLifetime(continuation) {}
        }
    } catch {
        print(style.red("could not listen at 127.0.0.1:\(port): \(error)"))
        terminate(1)
    }
case .tour(let executor):
    terminate(try await Tour(page: TourPage(style: style), executor: executor).run() ? 0 : 1)
}
