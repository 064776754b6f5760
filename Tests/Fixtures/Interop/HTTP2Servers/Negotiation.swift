import Foundation
import RequestsSocket

// The version of HTTP is selected in the TLS handshake.
extension Server {
    func performNegotiation(expecting version: RawResponse.Metrics.HTTPVersion) async {
        let connections = version == .http2 ? nil : 64
        for count in [64, 300] {
            await sharedStep("\(count) negotiated", count, connections: connections, over: .http2Preferred) { server in
                await atOnce(count) { number in
                    let response = try await server.send("/part-\(number % 64)")
                    try await check(response, 200, parts[number % 64])
                    guard response.metrics.httpVersion == version else {
                        let name = response.metrics.httpVersion?.rawValue ?? "no version"
                        throw Difference(description: name)
                    }
                }
            }
        }
    }
}
