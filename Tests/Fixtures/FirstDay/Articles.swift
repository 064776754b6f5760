import Foundation
import RequestsMiddleware
import RequestsMock
import RequestsSocket

// A House test checks that each declaration after “Article” is in that article, line for line.

// Article: GettingStarted.md
func values<E: Endpoint>(
    of endpoints: [E], from client: Client<E.API>, limit: Int = 8
) async throws -> [E.Resource] where E.Resource: Sendable {
    try await withThrowingTaskGroup(of: (Int, E.Resource).self) { group in
        var values: [Int: E.Resource] = [:]
        for (index, endpoint) in endpoints.enumerated() {
            if index >= limit, let (done, value) = try await group.next() {
                values[done] = value
            }
            group.addTask {
                (index, try await client.perform(endpoint))
            }
        }
        for try await (done, value) in group { values[done] = value }
        return endpoints.indices.compactMap { values[$0] }
    }
}

// Article: ChoosingAnExecutor.md
func executor(named name: String) -> any RequestExecutor {
    switch name {
    case "memory": MockExecutor(.ok())
    case "socket": SocketExecutor()
    default: SocketExecutor().decodingContent()
    }
}

// Article: ReadingResponses.md
/// Returns the progress of a download as a line for a terminal.
func bar(_ progress: TransferProgress) -> String {
    guard let part = progress.fractionReceived else {
        return "\(progress.bytesReceived) bytes"
    }
    let full = Int(part * 40)
    let bar = String(repeating: "#", count: full)
    return bar.padding(toLength: 40, withPad: ".", startingAt: 0)
        + " \(Int(part * 100)) %"
}

/// Downloads a file with a progress bar; Ctrl-C ends the download, and the
/// next run continues it.
func download<API>(
    _ request: Request<API, URL>, from executor: some RequestExecutor
) async throws -> URL {
    let handler = signal(SIGINT, SIG_IGN)  // the source below receives it
    let task = Task {
        let request = request.onProgress { progress in
            let line = Data("\r\(bar(progress))".utf8)
            FileHandle.standardError.write(line)
        }
        return try await executor.resumingDownloads().perform(request)
    }
    let interrupt = DispatchSource.makeSignalSource(signal: SIGINT)
    interrupt.setEventHandler { task.cancel() }
    interrupt.setCancelHandler { signal(SIGINT, handler) }
    interrupt.resume()
    defer { interrupt.cancel() }
    return try await task.value
}

// Article: ChoosingAnExecutor.md
#if canImport(Darwin)
import RequestsURLSession

func makeExecutor() -> some RequestExecutor { URLSessionExecutor() }
#else
import RequestsMiddleware
import RequestsSocket

func makeExecutor() -> some RequestExecutor {
    SocketExecutor().decodingContent()
}
#endif
