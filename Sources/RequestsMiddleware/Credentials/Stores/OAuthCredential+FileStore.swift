internal import RequestsPOSIX

extension OAuthCredential {
    /// A store in a file that only its owner can read (0600).
    ///
    /// ```swift
    /// let store = OAuthCredential.FileStore(path: "/home/me/.config/app/token")
    /// ```
    ///
    /// The file is replaced as a whole, after it has been synchronized to the disk: if the program or the system ends
    /// at any time, the file contains the old or the new credential. Several processes can use it at the same time:
    /// each change locks a file beside it, whose name ends in `.lock` and which is not removed. A program that is
    /// killed while it writes can leave a file `.requests-….part` there, which has the same mode. The tokens are not
    /// encrypted.
    ///
    /// The file is JSON with the version of its format and the number of changes. A file that is malformed, of an
    /// unknown version, not a regular file, or readable by others, is an error and is not replaced. The folder must
    /// exist; one that others can write to and that is not sticky, as `/tmp` is, is an error.
    public final class FileStore: CredentialStore {
        /// The path of the file.
        package let path: String

        private var file: LockedFile { LockedFile(path: path, limit: 1 << 20) }

        /// Creates a store at `path`, which need not exist.
        public init(path: String) {
            self.path = path
        }

        /// Returns the stored credential; nil if there is none.
        ///
        /// - Throws: ``CredentialError/storeFailed(_:)`` with the path and the reason.
        public func load() async throws(CredentialError) -> OAuthCredential? {
            do throws(LockedFile.Problem) {
                return try read()?.credential
            } catch {
                throw .storeFailed("\(error)")
            }
        }

        /// Replaces the stored credential by the result of `change`, and returns it.
        ///
        /// - Throws: ``CredentialError/storeFailed(_:)`` with the path and the reason; also if another process has had
        ///   the lock for 10 s, or if the task is cancelled while it waits for it.
        public func update(
            _ change: @Sendable (OAuthCredential?) -> OAuthCredential?
        ) async throws(CredentialError) -> OAuthCredential? {
            do throws(LockedFile.Problem) {
                let lock = try await file.lock()
                defer { withExtendedLifetime(lock) {} }
                return try replace(change)
            } catch {
                throw .storeFailed("\(error)")
            }
        }

        /// Changes the file once, with its lock, which must be free.
        ///
        /// - Throws: ``CredentialError/storeFailed(_:)`` with the path and the reason.
        package func updateNow(
            _ change: (OAuthCredential?) -> OAuthCredential?
        ) throws(CredentialError) -> OAuthCredential? {
            do throws(LockedFile.Problem) {
                let lock = try file.lockNow()
                defer { withExtendedLifetime(lock) {} }
                return try replace(change)
            } catch {
                throw .storeFailed("\(error)")
            }
        }
    }
}

extension OAuthCredential.FileStore {
    private struct Content: Codable {
        var version = 1
        /// The number of changes; of two contents, the one with more is newer.
        var revision = 0
        var credential: OAuthCredential?
    }

    private func read() throws(LockedFile.Problem) -> Content? {
        try file.read("credential store", as: Content.self)
    }

    private func replace(
        _ change: (OAuthCredential?) -> OAuthCredential?
    ) throws(LockedFile.Problem) -> OAuthCredential? {
        var content = try read() ?? Content()
        content.credential = change(content.credential)
        // Wraps around instead of ending the process, because the number is read from a file.
        content.revision &+= 1
        try file.write(content)
        return content.credential
    }
}

extension OAuthCredential.FileStore: CustomStringConvertible, CustomReflectable {
    /// The path of the store, without its content.
    public var description: String { "credential store at \(ErrorText.quoted(path))" }

    /// The mirror that `dump` prints: the path.
    public var customMirror: Mirror { Mirror(self, children: ["path": path]) }
}
