import RequestsBench
import RequestsPOSIX

// The client of requests-bench whose memory is measured: it links neither Foundation's networking nor libcurl.
do {
    print(try await ClientRun(Array(CommandLine.arguments.dropFirst())).report())
} catch {
    print("requests-bench-client: \(error)")
    terminate(1)
}
