@_spi(Lock) internal import Requests
internal import RequestsPOSIX

/// The last key that was derived for signatures; it is the same for one day, region and service.
///
/// Copies of a signature share it. A key is used only for exactly the values that it was derived from, so changing the
/// credentials of a copy is safe.
final class AWSKeyCache: Sendable {
    fileprivate struct Entry: Sendable {
        let secret: String
        let parts: [String]
        let key: Data
    }

    private let entry = Lock<Entry?>(nil)

    /// Returns the key that is derived from `secret` for `parts`: the date, the region, the service and a constant.
    func key(
        for parts: [String], secret: String, _ hashes: any HashProvider
    ) throws(HashError) -> Data {
        if let kept = entry.withLock({ $0 }), kept.matches(secret, parts) { return kept.key }
        // Outside the lock: two requests may derive the same key, which costs less than waiting.
        var key = Data("AWS4\(secret)".utf8)
        for part in parts {
            key = Data(try hashes.authenticationCode(of: Data(part.utf8), key: key, with: .sha256))
        }
        let new = Entry(secret: secret, parts: parts, key: key)
        entry.withLock { $0 = new }
        return key
    }
}

extension AWSKeyCache.Entry {
    fileprivate func matches(_ secret: String, _ parts: [String]) -> Bool {
        self.secret.hasSameBytes(as: secret) && zip(self.parts, parts).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
