import Foundation
import RequestsSocket

// Unary calls of gRPC.
extension Server {
    /// Performs a call of the method whose request and response are `message`, and checks the status of gRPC.
    private func call(
        _ method: String, _ message: Data = Data("hello".utf8), expecting status: Int = 0,
        within limit: Duration = .seconds(60)
    ) async throws -> RawResponse.Metrics {
        let size = withUnsafeBytes(of: UInt32(message.count).bigEndian) { Data($0) }
        let response = try await send("/test.Test/\(method)") {
            $0.method = .post
            $0.header = ["Content-Type": "application/grpc", "TE": "trailers"]
            $0.body = .bytes([0] + size + message)
            $0.timeouts.firstByte = limit
        }
        try await check(response, 200, status == 0 ? [0] + size + message : Data())
        let received = response.trailers["grpc-status"] ?? response.header["grpc-status"]
        guard received == "\(status)" else { throw Difference(description: "grpc-status \(received ?? "missing")") }
        return response.metrics
    }

    func performUnaryCalls() async {
        for (method, status) in [("Echo", 0), ("Fail", 5)] {
            await step(method) {
                _ = try await call(method, expecting: status)
                let second = try await call(method, expecting: status)
                guard second.isReusedConnection else { throw Difference(description: "two connections") }
                return nil
            }
        }
        for count in [64, 300] {
            await sharedStep("\(count) at once", count) { server in
                await atOnce(count) { _ = try await server.call("Echo", parts[$0 % 64]) }
            }
        }
        await sharedStep("16 × 1 MB at once", 16) { server in
            await atOnce(16) { _ = try await server.call("Echo", Data(upload.dropFirst($0 * 1_000).prefix(1_000_000))) }
        }
        // At 500 streams that were reset in a short time, another connection is used.
        await sharedStep("300 cancelled and 300 timed out beside 300", 900, connections: 3) { server in
            await atOnce(900) { number in
                switch number % 3 {
                case 0: _ = try await server.call("Echo", parts[number % 64])
                case 1:
                    try await cancel(after: .milliseconds(number * 7 % 300)) { _ = try await server.call("Slow") }
                default:
                    do { _ = try await server.call("Slow", within: .milliseconds(20 + number * 7 % 300)) } catch let
                        error as RequestError where error.reason == .timedOut(.firstByte)
                    {}
                }
            }
        }
    }
}
