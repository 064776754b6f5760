extension TestServer {
    /// The version of HTTP that a server speaks.
    public struct Version: Hashable, Sendable {
        let isHTTP2: Bool

        /// HTTP/1.1, and HTTP/1.0 for clients that send it.
        public static let http1 = Version(isHTTP2: false)

        /// HTTP/2 (RFC 9113): with prior knowledge, or over TLS if the client offers `h2`; other clients over TLS are
        /// served with HTTP/1.1.
        ///
        /// The exchanges of a connection are numbered in the order of their heads, and performed at the same time.
        public static let http2 = Version(isHTTP2: true)

        /// Returns the application protocols of a server with TLS, of which the first common one is selected.
        func applicationProtocols(with names: [String]) -> [String] {
            guard isHTTP2, !names.isEmpty, !names.contains("h2") else { return names }
            return ["h2"] + names
        }
    }
}
