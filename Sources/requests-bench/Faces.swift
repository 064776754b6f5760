import Dispatch
import Requests

/// One whole call, made through the faces that are not async.
struct Faces: Sendable {
    let executor: any RequestExecutor
    let request: Request<AnonymousRequestProvider, Data>

    func wait() throws(RequestError) -> Int {
        try executor.performAndWait(request).count
    }

    func executeAndWait(_ request: PreparedRequest) throws(RequestError) -> RawResponse {
        try executor.executeAndWait(request)
    }

    func callBack() async throws -> Int {
        try await withUnsafeContinuation { continuation in
            executor.perform(request, on: Self.queue) { continuation.resume(returning: $0) }
        }.get().value.count
    }

    private static let queue = DispatchQueue(label: "bench.completion")
}
