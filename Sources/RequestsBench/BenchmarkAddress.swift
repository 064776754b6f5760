import Requests
import RequestsSocket

/// The address of a measured server, and the version of HTTP to use there.
struct BenchmarkAddress {
    /// The URL below which the server's paths are.
    let baseURL: URL
    let destination: SocketExecutor.Destination
    let version: SocketExecutor.HTTPVersion

    /// Parses a port of 127.0.0.1, `unix:/path` or `tls:HOST:PORT` for HTTP/1.1, and `h2:PORT`, `h2:unix:/path` or
    /// `h2s:HOST:PORT` for HTTP/2 with prior knowledge.
    init(_ text: String) throws(BenchmarkError) {
        let scheme = ["tls:", "h2:", "h2s:"].first { text.hasPrefix($0) } ?? ""
        let address = text.dropFirst(scheme.count)
        version = scheme.hasPrefix("h2") ? .http2PriorKnowledge : .http1
        let isSecured = scheme == "tls:" || scheme == "h2s:"
        let isPath = !isSecured && address.hasPrefix("unix:")
        destination = isPath ? .unix(path: String(address.dropFirst(5))) : .url
        let url = isSecured ? "https://\(address)" : isPath ? "http://127.0.0.1" : "http://127.0.0.1:\(address)"
        guard !address.isEmpty, let baseURL = URL(string: url) else {
            throw BenchmarkError(
                "invalid address “\(text)”; use PORT, unix:/path, tls:HOST:PORT, h2:PORT, h2:unix:/path or h2s:HOST:PORT"
            )
        }
        self.baseURL = baseURL
    }
}
