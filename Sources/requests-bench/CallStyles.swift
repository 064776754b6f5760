import Dispatch
import Requests

/// One whole call, blocking or with a completion handler.
struct CallStyles: Sendable {
    let executor: any RequestExecutor
    let request: Request<AnonymousRequestProvider, Data>

    func performAndWait() throws(RequestError) -> Int {
        try executor.performAndWait(request).count
    }

    func executeAndWait(_ request: PreparedRequest) throws(RequestError) -> RawResponse {
        try executor.executeAndWait(request)
    }

    func performWithCompletion() async throws -> Int {
        try await withUnsafeContinuation { continuation in
            executor.perform(request, on: Self.queue) { continuation.resume(returning: $0) }
        }.get().value.count
    }

    private static let queue = DispatchQueue(label: "bench.completion")
}
