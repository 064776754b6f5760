/// An executor that counts its connections, for gauges.
package protocol CountsConnections {
    /// The connections to each origin that has any.
    var connectionCounts: [ConnectionCount] { get }
}

/// The connections to one origin.
package struct ConnectionCount: Sendable {
    /// A URL of the origin.
    package let origin: TargetURI
    /// The number of connections that are in use or being established.
    package let active: Int
    /// The number of idle connections.
    package let idle: Int

    /// Creates a count.
    package init(_ origin: TargetURI, active: Int, idle: Int) {
        self.origin = origin
        self.active = active
        self.idle = idle
    }
}
