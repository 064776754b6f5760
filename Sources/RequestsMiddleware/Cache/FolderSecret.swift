@_spi(Lock) internal import Requests
internal import RequestsPOSIX

/// The secret key of a folder, in the file `key`.
///
/// The first process that needs it creates it for all.
final class FolderSecret: Sendable {
    private let folder: String
    private let value = Lock<[UInt8]?>(nil)

    private static let length = 32

    init(in folder: String) {
        self.folder = folder
    }

    private var file: LockedFile { LockedFile(path: "\(folder)/key", limit: 1 << 10) }

    /// The secret, if it was read or created before.
    var known: [UInt8]? { value.withLock { $0 } }

    /// Forgets the secret, because its folder is missing.
    func forget() { value.withLock { $0 = nil } }

    /// Returns the secret from the file, and whether it was unknown until now; nil if there is none.
    ///
    /// - Parameter creating: Whether to create a secret if there is none.
    /// - Returns: The secret.
    /// - Throws: An error with the path and the reason, also if another process creates the secret at the same time,
    ///   because two processes must not use different ones.
    func load(creating: Bool) throws -> (secret: [UInt8], isFirst: Bool)? {
        if creating { try PrivateFolder.create(folder) }
        var found = try read()
        if found == nil, creating {
            let lock = try file.lockNow()
            defer { withExtendedLifetime(lock) {} }
            found = try createWithLock()
        }
        guard let found else { return nil }
        return value.withLock { value in
            defer { value = found }
            return (found, value == nil)
        }
    }

    /// Creates the secret if there is none, after waiting for any process that is creating it.
    ///
    /// If that fails, so does ``load(creating:)``, whose error has the reason.
    func create() async {
        guard known == nil, (try? PrivateFolder.create(folder)) != nil, (try? read()) == nil,
            let lock = try? await file.lock()
        else { return }
        defer { withExtendedLifetime(lock) {} }
        _ = try? createWithLock()
    }

    private func createWithLock() throws -> [UInt8] {
        if let secret = try read() { return secret }
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<Self.length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        try file.replace(with: secret)
        return secret
    }

    private func read() throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            guard let secret = try PrivateFile.contents(of: file.path, limit: file.limit) else { return nil }
            if secret.count == Self.length { return secret }
        } catch {
            if error.concernsNoFile { throw error }
        }
        // A key that others can read, or that is damaged, must not be used.
        PrivateFolder.remove(file.path)
        return nil
    }
}
