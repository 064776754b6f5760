/// An executor that counts its connections, for gauges.
package protocol CountsConnections {
    /// One element for each origin to which a connection is open.
    var connectionCounts: [ConnectionCount] { get }
}

package struct ConnectionCount: Sendable {
    package let origin: TargetURI
    /// The number of connections that are in use or being established.
    package let active: Int
    package let idle: Int

    package init(_ origin: TargetURI, active: Int, idle: Int) {
        self.origin = origin
        self.active = active
        self.idle = idle
    }
}
