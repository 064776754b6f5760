import Foundation
import RequestsSocket

// Calls that block their thread.
extension Server {
    private func blockingStep(_ name: String, _ work: () throws -> Bool) {
        guard isSelected(name) else { return }
        do { printLine("\(name)\t\(try work() ? "ok" : "another response")") } catch {
            printLine("\(name)\t\(error)")
        }
    }

    private func performOnThread() {
        let whole = ResponseDecoder(limit: 30_000_000) { _, data in data }
        blockingStep("blocking GET") {
            try (0..<3).allSatisfy { _ in try client.responseAndWait { $0.get(.data, from: "/small") }.value == small }
        }
        blockingStep("blocking 20 MB") {
            try client.responseAndWait { $0.get(whole, from: "/big") }.value == big
        }
        if supports("echo") {
            blockingStep("blocking POST") {
                try client.responseAndWait { $0.post(.raw(data: upload), to: "/echo", receiving: whole) }.value
                    == upload
            }
        }
    }

    func performBlockingCalls() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                performOnThread()
                continuation.resume()
            }
        }
    }
}
