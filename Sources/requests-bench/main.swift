import Requests
import RequestsBench
import RequestsPOSIX

let usage = """
    usage: requests-bench [--quick] [--json]           measure every published figure in one run
           requests-bench compare FOLDER [--core N] [--rounds N] [--quick] [--json]
                                                       compare with the C server and loop in FOLDER, in paired rounds
           requests-bench servers FOLDER [--core N] [--rounds N]
                                                       compare the test server with the C server in FOLDER
           requests-bench client CASE N CONCURRENCY ADDRESS [--executor NAME]
                                                       measure one client of a comparison; prints a JSON line
           requests-bench serve [BYTES]                run the server of those figures: prints its URL and ends with
                                                       its input; the target /gb1 has 1 GiB
           requests-bench whole-call URL TURNS         measure perform(endpoint) with JSON, and its transport and
                                                       JSONDecoder, in TURNS turns of a hundred; prints microseconds
           requests-bench middleware                   measure what idle middleware adds to a request
           requests-bench middleware CHAIN N [--blocking]
                                                       perform N requests through a chain, for a counter of
                                                       allocations; CHAIN: bare retry fixed refreshable whole signed
           requests-bench cache                        measure responses from a cache in memory and in files
           requests-bench stubs                        measure a request to a mock with one and with 10,000 stubs
           requests-bench describe N                   describe, prepare and write a GET N times
           requests-bench download EXECUTOR MEGABYTES  print the growth of peak memory in MiB; EXECUTOR: socket,
                                                       urlsession
    NAME: socket, socket-tasks, socket-blocking (the whole call), urlsession, urlsession-bare
    CASE: small kb64 chunked down16 down16s down1g up upchunked upfile1g
    ADDRESS: PORT unix:/path tls:HOST:PORT, for HTTP/2 h2:PORT h2:unix:/path h2s:HOST:PORT
    """

/// Removes `option` and the number after it from `words`, and returns the number; nil if they are missing.
func number(_ option: String, in words: inout [String]) -> Int? {
    guard let index = words.firstIndex(of: option), index + 1 < words.count else { return nil }
    defer { words.removeSubrange(index...index + 1) }
    return Int(words[index + 1])
}

var words = Array(CommandLine.arguments.dropFirst())
do {
    if words.first == "client" {
        let arguments = Array(words.dropFirst())
        // Sockets are measured in a program that links neither Foundation's networking nor libcurl.
        if ClientRun.executor(in: arguments).name.hasPrefix("socket") {
            Program.replaceProcess(with: "requests-bench-client", arguments)
        }
        print(try await ClientRun(arguments, others: BareSession.executors).report())
    } else if words.first == "serve" {
        try ChildServer.serve(Array(words.dropFirst()))
    } else if words.first == "serve-test" {
        try await ServedRequests.serve(overHTTP2: words.contains("h2"))
    } else if words.first == "servers", words.count > 1 {
        let (core, rounds) = (number("--core", in: &words), number("--rounds", in: &words))
        print(Table(try ServedRequests(folder: words[1], rounds: rounds ?? 7, core: core, scale: 1).figures()).text)
    } else if words.first == "whole-call" {
        print(try await CallRun(Array(words.dropFirst())).text)
    } else if words.first == "middleware", words.count > 2, let chain = MiddlewareCost.Chain(rawValue: words[1]),
        let count = Int(words[2])
    {
        try await MiddlewareCost.perform(count, through: chain, isBlocking: words.contains("--blocking"))
    } else if words.first == "middleware" {
        let cookies = try CookieCost(rounds: 9, scale: 1).figures()
        print(Table(try await MiddlewareCost(rounds: 9, scale: 1).figures() + cookies).text)
    } else if words.first == "cache" {
        print(Table(try await CacheCost(rounds: 9, scale: 1).figures()).text)
    } else if words.first == "stubs" {
        print(Table(try await StubCost(rounds: 9, scale: 1).figures()).text)
    } else if words.first == "describe" {
        try DescriptionBenchmark.count(Array(words.dropFirst()))
    } else if words.first == "download" {
        print(try await DownloadRun(Array(words.dropFirst())).report())
    } else if words.first == "compare", words.count > 1 {
        let (core, rounds) = (number("--core", in: &words), number("--rounds", in: &words))
        let scale = words.contains("--quick") ? 0.05 : 1
        let figures = try Comparison(folder: words[1], rounds: rounds ?? 7, core: core, scale: scale).figures()
        print(words.contains("--json") ? Table(figures).json : Table(figures).text)
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
