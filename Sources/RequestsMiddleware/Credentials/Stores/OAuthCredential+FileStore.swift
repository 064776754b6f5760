@_spi(Lock) internal import Requests
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
        public let path: String

        /// The maximum size of the file in bytes.
        private static let limit = 1 << 20
        /// The time to wait for the lock, which others have only for a moment.
        private static let lockTimeout = Duration.seconds(10)

        /// Creates a store at `path`, which need not exist.
        public init(path: String) {
            self.path = path
        }

        /// Returns the stored credential; nil if there is none.
        ///
        /// - Throws: ``CredentialError/storeFailed(_:)`` with the path and the reason.
        public func load() async throws(CredentialError) -> OAuthCredential? {
            try attempt { () throws in try read()?.credential }
        }

        /// Replaces the stored credential by the result of `change`, and returns it.
        ///
        /// - Throws: ``CredentialError/storeFailed(_:)`` with the path and the reason; also if another process has had
        ///   the lock for 10 s, or if the task is cancelled while it waits for it.
        public func update(
            _ change: @Sendable (OAuthCredential?) -> OAuthCredential?
        ) async throws(CredentialError) -> OAuthCredential? {
            let end = Deadline.after(Self.lockTimeout)
            while true {
                if let lock = try attempt({ () throws -> PartialFile? in
                    try self.lock(isLast: end.hasPassed)
                }) {
                    defer { withExtendedLifetime(lock) {} }
                    return try attempt { () throws in try replace(change) }
                }
                do throws(RequestError) {
                    try await CallingThread.sleep(until: .after(.milliseconds(5)))
                } catch {
                    throw .storeFailed("\(ErrorText.quoted(path)): cancelled while waiting for its lock")
                }
            }
        }

        /// Changes the file once, with its lock, which must be free.
        ///
        /// - Throws: ``CredentialError/storeFailed(_:)`` with the path and the reason.
        package func updateNow(
            _ change: (OAuthCredential?) -> OAuthCredential?
        ) throws(CredentialError) -> OAuthCredential? {
            let lock = try attempt { () throws -> PartialFile? in try self.lock(isLast: true) }
            defer { withExtendedLifetime(lock) {} }
            return try attempt { () throws in try replace(change) }
        }
    }
}

extension OAuthCredential.FileStore {
    private struct Content: Codable {
        static let currentVersion = 1

        var version = currentVersion
        /// The number of changes, which shows a reader of the file which of two contents is newer.
        var revision = 0
        var credential: OAuthCredential?
    }

    /// Returns the lock of the file; nil if another process or task has it, unless this is the last attempt.
    private func lock(isLast: Bool) throws(FileError) -> PartialFile? {
        // Without a file name, the lock would be the file `.lock` in the folder.
        guard !path.isEmpty, !path.hasByteSuffix("/") else { throw .invalidPath }
        do throws(FileError) {
            return try PartialFile.open("\(path).lock", creating: true)
        } catch .locked(_) where !isLast {
            return nil
        }
    }

    private func read() throws -> Content? {
        guard let bytes = try PrivateFile.contents(of: path, limit: Self.limit) else { return nil }
        let data = Data(bytes)
        // The version is read first, because another version has other members.
        guard let json = try? JSONValue(parsing: data), let version = json["version"]?.int else {
            throw StoreProblem("it is not a credential store")
        }
        guard version == Content.currentVersion else { throw StoreProblem("unknown version \(version)") }
        do {
            return try JSONDecoder().decode(Content.self, from: data)
        } catch {
            // The error of the decoder could quote a token.
            throw StoreProblem("it is malformed")
        }
    }

    private func replace(_ change: (OAuthCredential?) -> OAuthCredential?) throws -> OAuthCredential? {
        var content = try read() ?? Content()
        content.credential = change(content.credential)
        // Wraps around instead of ending the process, because the number is read from a file.
        content.revision &+= 1
        let data = try BodyProvider.makeDeterministicEncoder().encode(content)
        try PrivateFile.replace(path, with: Array(data))
        return content.credential
    }

    /// Returns the result of `operation`, whose errors have no secrets.
    private func attempt<Result>(_ operation: () throws -> Result) throws(CredentialError) -> Result {
        do {
            return try operation()
        } catch FileError.locked(_) {
            throw .storeFailed("\(ErrorText.quoted(path)): another process or task has its lock")
        } catch let error as FileError {
            throw .storeFailed("\(error)")
        } catch let error as StoreProblem {
            throw .storeFailed("\(ErrorText.quoted(path)): \(error.text)")
        } catch {
            // The only other error is that of the encoder, for a number that JSON cannot represent.
            throw .storeFailed("\(ErrorText.quoted(path)): the credential cannot be encoded")
        }
    }
}

extension OAuthCredential.FileStore: CustomStringConvertible, CustomReflectable {
    /// The path of the store, without its content.
    public var description: String { "credential store at \(ErrorText.quoted(path))" }

    /// The mirror that `dump` prints: the path.
    public var customMirror: Mirror { Mirror(self, children: ["path": path]) }
}

private struct StoreProblem: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}
