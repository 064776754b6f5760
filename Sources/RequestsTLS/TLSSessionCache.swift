import CRequestsPOSIX
@_spi(Lock) import Requests

/// The sessions that connections of one ``TLSContext`` can resume.
///
/// A session is used only for a connection with its key, and only while the verification of the chain is valid. Each is
/// returned once: a ticket that is used twice would let observers link the connections (RFC 8446 §C.4). Trust, identity
/// and pins belong to the context, so connections with other settings never use its sessions.
package final class TLSSessionCache: Sendable {
    package let limit: Int
    /// The maximum number of sessions for one key; this many connections opened at once can each resume a session.
    private static let limitOfKey = 8
    private let state = Lock(State())

    private struct State {
        /// The sessions, the oldest first.
        var entries: [Entry] = []
    }

    private struct Entry {
        let key: TLSSessionKey
        let session: TLSSession
    }

    init(limit: Int) {
        self.limit = limit
    }

    package var count: Int { state.withLock { $0.entries.count } }

    /// Removes all sessions; called when the identity changes.
    package func removeAll() {
        let entries = state.withLock { state in
            let entries = state.entries
            state.entries = []
            return entries
        }
        // Released here, outside of the lock.
        _ = entries
    }

    /// Adds a session, and removes the oldest one if there are too many.
    func insert(_ session: TLSSession, for key: TLSSessionKey) {
        guard limit > 0 else { return }
        state.withLock { state in
            if state.entries.count(where: { $0.key == key }) >= Self.limitOfKey,
                let oldest = state.entries.firstIndex(where: { $0.key == key })
            {
                state.entries.remove(at: oldest)
            }
            if state.entries.count >= limit { state.entries.removeFirst() }
            state.entries.append(Entry(key: key, session: session))
        }
    }

    /// Removes and returns the newest session for `key` that may be resumed at `now`, in seconds since 1970; nil if
    /// there is none.
    func take(_ key: TLSSessionKey, at now: Int) -> TLSSession? {
        guard limit > 0 else { return nil }
        return state.withLock { state in
            while let newest = state.entries.lastIndex(where: { $0.key == key }) {
                let session = state.entries.remove(at: newest).session
                if session.validity.contains(now) { return session }
            }
            return nil
        }
    }
}

/// The peer of a session that can be resumed.
package struct TLSSessionKey: Hashable, Sendable {
    private let bytes: [UInt8]

    /// Creates the key of a peer.
    ///
    /// - Parameters:
    ///   - scheme: The scheme of the URL.
    ///   - host: The verified name.
    ///   - port: The port.
    ///   - route: Anything else that distinguishes connections, such as a proxy.
    package init(scheme: String, host: TLSServerName, port: Int, route: String = "") {
        // NUL separates the parts: no host contains it.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        for part in [scheme, host.text, route] {
            bytes.append(contentsOf: part.utf8)
            bytes.append(0)
        }
        withUnsafeBytes(of: port) { bytes.append(contentsOf: $0) }
        self.bytes = bytes
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns this key, limited to connections that verify `name`.
    func bound(to name: TLSServerName) -> TLSSessionKey {
        TLSSessionKey(bytes: bytes + name.text.utf8)
    }
}

/// A session of OpenSSL, with one reference.
final class TLSSession: Sendable {
    private let pointer: SharedPointer
    private let library: LoadedTLS
    /// The time range in which the session may be resumed, in seconds since 1970.
    ///
    /// OpenSSL does not verify a resumed session.
    let validity: Range<Int>

    /// Creates the owner of a reference to `session`.
    init(adopting session: UnsafeMutableRawPointer, _ library: LoadedTLS, valid validity: Range<Int>) {
        self.validity = validity
        pointer = SharedPointer(address: session)
        self.library = library
    }

    deinit { library.release { $0.SSL_SESSION_free(pointer.address) } }

    var address: UnsafeMutableRawPointer { pointer.address }
}
