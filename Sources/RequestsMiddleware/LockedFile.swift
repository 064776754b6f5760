internal import RequestsPOSIX

/// A file that only its owner can access (0600), and that processes change one after the other.
///
/// To change it, they lock a file beside it, whose name ends in `.lock` and which is not removed.
struct LockedFile: Sendable {
    let path: String
    /// The maximum size of the file in bytes.
    let limit: Int

    /// The reason why a file could not be used, with its path and without its content.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// The maximum time to wait for the lock, which other processes hold only for a moment.
    private static let lockTimeout = Duration.seconds(10)

    func lock() async throws(Problem) -> PartialFile {
        let end = Deadline.after(Self.lockTimeout)
        while !end.hasPassed {
            if let lock = try lockIfFree() { return lock }
            do throws(RequestError) {
                try await CallingThread.sleep(until: .after(.milliseconds(5)))
            } catch {
                throw problem("cancelled while waiting for its lock")
            }
        }
        return try lockNow()
    }

    /// Returns the lock, which must be free.
    func lockNow() throws(Problem) -> PartialFile {
        guard let lock = try lockIfFree() else { throw problem("another process or task has its lock") }
        return lock
    }

    /// Returns the lock; nil if another process or task has it.
    private func lockIfFree() throws(Problem) -> PartialFile? {
        try attempt { () throws(FileError) in
            // Without a file name, the lock would be the file `.lock` in the folder.
            guard !path.isEmpty, !path.hasByteSuffix("/") else { throw .invalidPath }
            do throws(FileError) {
                return try PartialFile.open("\(path).lock", creating: true)
            } catch .locked(_) {
                return nil
            }
        }
    }

    /// Returns the JSON in the file; nil if there is no file.
    ///
    /// The member `version` must be 1.
    func read<Content: Decodable>(_ kind: String, as type: Content.Type) throws(Problem) -> Content? {
        guard let bytes = try attempt({ () throws(FileError) in try PrivateFile.contents(of: path, limit: limit) })
        else { return nil }
        let data = Data(bytes)
        // The version is read first, because another version has other members.
        guard let version = (try? JSONDecoder().decode(Version.self, from: data))?.version else {
            throw problem("it is not a \(kind)")
        }
        guard version == 1 else { throw problem("unknown version \(version)") }
        // The error of the decoder could quote a secret.
        guard let content = try? JSONDecoder().decode(type, from: data) else { throw problem("it is malformed") }
        return content
    }

    private struct Version: Decodable {
        var version: Int
    }

    /// Replaces the file with one that contains `content` as JSON.
    func write(_ content: some Encodable) throws(Problem) {
        guard let data = try? BodyProvider.makeDeterministicEncoder().encode(content) else {
            throw problem("its content cannot be encoded")
        }
        // A larger file could not be read again.
        guard data.count <= limit else {
            throw problem("its content needs more than \(ErrorText.bytes(limit)), the limit of the file")
        }
        try replace(with: Array(data))
    }

    func replace(with bytes: [UInt8]) throws(Problem) {
        try attempt { () throws(FileError) in try PrivateFile.replace(path, with: bytes) }
    }

    func problem(_ text: String) -> Problem { Problem(description: "\(ErrorText.quoted(path)): \(text)") }

    private func attempt<Result>(_ operation: () throws(FileError) -> Result) throws(Problem) -> Result {
        do throws(FileError) {
            return try operation()
        } catch {
            throw Problem(description: "\(error)")
        }
    }
}
