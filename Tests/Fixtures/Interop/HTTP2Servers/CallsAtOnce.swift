import Foundation
import RequestsSocket
import Synchronization

/// The results of several calls.
struct Outcome {
    var errors: [any Error] = []
    /// What is to be reported beside the errors.
    var remark: String?
}

// Calls that share connections.
extension Server {
    /// Performs `work` for each number at once, or at most `limit` at a time, and returns the errors of all.
    func atOnce(
        _ count: Int, limit: Int = .max, _ work: @escaping @Sendable (Int) async throws -> Void
    ) async -> Outcome {
        await withTaskGroup(of: (any Error)?.self) { group in
            var outcome = Outcome()
            for number in 0..<count {
                if number >= limit, let error = await group.next(), let error { outcome.errors.append(error) }
                group.addTask {
                    do { try await work(number) } catch { return error }
                    return nil
                }
            }
            for await error in group { if let error { outcome.errors.append(error) } }
            return outcome
        }
    }

    /// Performs a step with an executor of its own, and reports the number of its connections, which must not exceed
    /// what `count` calls need, or `limit`.
    func sharedStep(
        _ name: String, _ count: Int, connections limit: Int? = nil, over version: SocketExecutor.HTTPVersion? = nil,
        _ work: (Server) async throws -> Outcome
    ) async {
        await step(name) {
            let server = withExecutor {
                if let limit { $0.maximumConnectionsPerOrigin = limit }
                if let version { $0.httpVersion = version }
            }
            let before = clientPorts()
            let outcome = try await work(server)
            let connections = withExtendedLifetime(server) { clientPorts().subtracting(before).count }
            let all = ["\(connections) connections", outcome.remark].compactMap(\.self).joined(separator: ", ")
            if let first = outcome.errors.first {
                throw Difference(description: "\(outcome.errors.count) of \(count) failed: \(first); \(all)")
            }
            // Until the server has announced how many streams it allows, 100 are opened.
            let streams = min(number("streams") ?? 100, 100)
            let needed = limit ?? (count + streams - 1) / streams
            // Each connection that the server has ended needs another one.
            let ended = number("requests").map { count / $0 + needed } ?? 0
            guard connections <= needed + ended else { throw Difference(description: all) }
            return connections == 1 ? outcome.remark : all
        }
    }

    func performCallsAtOnce() async {
        for (count, limit) in [(64, nil), (300, nil), (300, 1)] {
            await sharedStep("\(count) at once\(limit == nil ? "" : ", 1 connection")", count, connections: limit) {
                server in
                await atOnce(count) { try await check(server.send("/part-\($0 % 64)"), 200, parts[$0 % 64]) }
            }
        }
        await sharedStep("64 threads", 64) { server in await server.blockThreads(64) }
        if supports("echo") {
            await sharedStep("300 bodies at once", 300) { server in
                await atOnce(300) { try await server.echo(upload[($0 * 100)..<($0 * 300 + 10)].asData) }
            }
            await sharedStep("16 × 1 MB at once", 16) { server in
                await atOnce(16) { try await server.echo(upload[($0 * 1_000)..<($0 * 1_000 + 1_000_000)].asData) }
            }
        }
        if supports("once") {
            await sharedStep("1,000 POSTs at once", 1_000) { server in
                try await server.countPOSTs(1_000, atOnce: 1_000)
            }
        }
    }

    /// Sends POSTs, and compares them with those that the server has executed.
    func countPOSTs(_ count: Int, atOnce limit: Int) async throws -> Outcome {
        try await resetCounts()
        let repeated = Atomic(0)
        var outcome = await atOnce(count, limit: limit) { number in
            let response = try await post(number: number)
            if response.metrics.transmissions > 1 { repeated.add(1, ordering: .relaxed) }
        }
        let counts = try await counts()
        if counts != (count, count) {
            outcome.remark = "the server has executed \(counts.numbers), \(counts.sum) times in all"
            if outcome.errors.isEmpty { outcome.errors = [Difference(description: "another count")] }
        } else if repeated.load(ordering: .relaxed) > 0 {
            outcome.remark = "\(repeated.load(ordering: .relaxed)) sent again"
        }
        return outcome
    }

    private func blockThreads(_ count: Int) async -> Outcome {
        await withTaskGroup(of: (any Error)?.self) { group in
            for number in 0..<count {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            do {
                                let part = try client.responseAndWait { $0.get(.data, from: "/part-\(number)") }
                                let isRight = part.value == parts[number]
                                continuation.resume(
                                    returning: isRight ? nil : Difference(description: "other bytes"))
                            } catch {
                                continuation.resume(returning: error)
                            }
                        }
                    }
                }
            }
            return await group.reduce(into: Outcome()) { if let error = $1 { $0.errors.append(error) } }
        }
    }

    /// Returns the ports of the client in connections to the server, those that have ended less than a minute ago
    /// included.
    private func clientPorts() -> Set<Substring> {
        // Whole, although its size is reported as zero.
        let file = FileHandle(forReadingAtPath: "/proc/net/tcp")
        let table = (try? file?.readToEnd()).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let suffix = String(UInt16(base.port ?? 0), radix: 16, uppercase: true)
        let server = String(repeating: "0", count: 4 - suffix.count) + suffix
        var ports: Set<Substring> = []
        for line in table.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: " ")
            let ends = fields[1...2].compactMap { $0.split(separator: ":").last }
            if ends[0] == server { ports.insert(ends[1]) }
            if ends[1] == server { ports.insert(ends[0]) }
        }
        return ports.subtracting(["0000"])
    }
}

extension Data {
    /// A copy whose indices begin with 0.
    fileprivate var asData: Data { Data(self) }
}
