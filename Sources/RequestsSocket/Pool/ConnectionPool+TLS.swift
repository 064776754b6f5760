import Requests
import RequestsPOSIX
import RequestsTLS

extension ConnectionPool {
    /// Returns whether new connections would have the TLS settings of `connection`.
    func isCurrent(_ connection: Connection) -> Bool {
        guard let context = connection.context else { return true }
        return (connection.slot.origin.isForwarded ? security.proxy : security.origin).isCurrent(context)
    }

    /// Replaces the TLS settings to origin servers, or reads their files again.
    func reloadTLS(_ configuration: TLSConfiguration?, within timeout: Duration?) async throws(RequestError) {
        let limits = SocketTimeLimits(connectingWithin: timeout)
        try await security.origin.replace(with: configuration, limits, on: reactor())
        retireOutdated()
    }
}
