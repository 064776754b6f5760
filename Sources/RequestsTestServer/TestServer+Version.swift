import RequestsHTTP2

extension TestServer {
    /// The version of HTTP that a server uses.
    public struct Version: Hashable, Sendable {
        /// The settings of HTTP/2; nil for HTTP/1.1.
        let http2Settings: HTTP2Settings?

        /// HTTP/1.1, and HTTP/1.0 for clients that send it.
        public static let http1 = Version(http2Settings: nil)

        /// HTTP/2 (RFC 9113): in clear with prior knowledge, over TLS if the client offers `h2`.
        ///
        /// Other clients over TLS are served with HTTP/1.1.
        ///
        /// The exchanges of a connection are numbered in the order of their heads, and performed at the same time.
        public static let http2 = Version(http2Settings: HTTP2Settings())

        package static func http2(_ settings: HTTP2Settings) -> Version { Version(http2Settings: settings) }

        /// Returns the application protocols of a server with TLS, of which the first common one is selected.
        func applicationProtocols(with names: [String]) -> [String] {
            guard http2Settings != nil, !names.isEmpty else { return names }
            return names.contains { $0.hasSameBytes(as: "h2") } ? names : ["h2"] + names
        }
    }

    /// The settings that an HTTP/2 server announces (RFC 9113 §6.5.2), and the byte after which it closes its
    /// connections.
    ///
    /// ``TestServer/send(_:)`` announces others later.
    package struct HTTP2Settings: Hashable, Sendable {
        /// SETTINGS_MAX_CONCURRENT_STREAMS, from 0 to 2^31 - 1; 100 by default.
        ///
        /// The server accepts at least 100, because a client may open streams before it knows the limit.
        /// ``Record/maximumStreams`` shows how many were open.
        package var maximumStreams = 100
        /// SETTINGS_INITIAL_WINDOW_SIZE in bytes, from 0 to 2^31 - 1; 256 KiB by default.
        ///
        /// The server returns credit when half of it has been used. With 0, clients wait until other settings are sent.
        package var initialWindow = 256 << 10
        /// The number of bytes after which each connection is closed; nil for none.
        package var closesAfterByte: Int?

        /// Creates settings with these values, and with defaults for all other properties.
        package init(maximumStreams: Int = 100, initialWindow: Int = 256 << 10, closesAfterByte: Int? = nil) {
            self.maximumStreams = maximumStreams
            self.initialWindow = initialWindow
            self.closesAfterByte = closesAfterByte
        }

        func limits(headBytes: Int) -> HTTP2Limits {
            var limits = HTTP2Limits()
            limits.headBytes = headBytes
            limits.announcedStreams = max(0, maximumStreams)
            limits.announcedWindow = min(max(0, initialWindow), WindowSize.largest)
            limits.concurrentStreams = max(limits.concurrentStreams, maximumStreams)
            limits.streamWindow = min(max(limits.streamWindow, initialWindow), WindowSize.largest)
            return limits
        }
    }

    /// Sends `bytes` between the frames of all open HTTP/2 connections, such as SETTINGS or PING.
    package func send(_ bytes: [UInt8]) {
        for connection in state.http2Connections { connection.send(bytes) }
    }
}
