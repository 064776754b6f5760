@_spi(Lock) import Requests

extension ConnectionPool {
    func version(for origin: Origin) -> ConnectionVersion {
        let version = configuration.originVersion
        if origin.isForwarded { return .http1 }
        guard version == .negotiated else { return version }
        if !origin.isSecured { return .http1 }
        return requiresHTTP1(origin) ? .http1Only : .negotiated
    }

    /// Returns whether a server selects the version of HTTP for connections to `origin`.
    func negotiates(_ origin: Origin) -> Bool {
        configuration.httpVersion == .http2Preferred && origin.isSecured && !origin.isForwarded
    }

    private func requiresHTTP1(_ origin: Origin) -> Bool {
        if isInherited { return false }
        return state.withLock { $0.ledger.http1Peers.reason(for: origin) } == .required
    }

    /// Records that the server of `origin` requires HTTP/1.1; returns false if connections to it do not offer that.
    func recordHTTP1Requirement(of origin: Origin) -> Bool {
        guard negotiates(origin) else { return false }
        state.withLock { $0.ledger.http1Peers.record(origin, .required) }
        return true
    }
}
