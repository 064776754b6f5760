import Requests
import RequestsPOSIX

let usage = """
    usage: requests-bench [--quick] [--json]      every figure we claim, in one run
           requests-bench client CASE N CONCURRENCY ADDRESS [--executor NAME]
                                                  one client's part of a comparison, as a JSON line
    requests-bench serve [BYTES]               the other process of those figures: prints a URL, ends with its input
           requests-bench download EXECUTOR MEGABYTES  growth of peak memory in MiB; EXECUTOR: socket, urlsession
    NAME: socket, socket-blocking (concurrency 1), urlsession, urlsession-bare
    CASE: small kb64 chunked down16 up upchunked; ADDRESS: a port of 127.0.0.1 or unix:/path
    """

var words = Array(CommandLine.arguments.dropFirst())
do {
    if words.first == "client" {
        print(try await ClientRun(Array(words.dropFirst())).report())
    } else if words.first == "serve" {
        try ChildServer.serve(Array(words.dropFirst()))
    } else if words.first == "download" {
        print(try await DownloadRun(Array(words.dropFirst())).report())
    } else if words.allSatisfy(["--quick", "--json"].contains) {
        let suite = Suite(rounds: words.contains("--quick") ? 3 : 9, scale: words.contains("--quick") ? 0.02 : 1)
        let figures = try await suite.run()
        print(words.contains("--json") ? Table(figures).json : Table(figures).text)
    } else {
        print(usage)
        terminate(2)
    }
} catch {
    print("requests-bench: \(error)")
    terminate(1)
}
