@_spi(Lock) internal import Requests
internal import RequestsPOSIX

extension Caching {
    /// A store in a folder, with one file for each entry, which only the owner can read (0600).
    ///
    /// ```swift
    /// let store = Caching.DiskStore(folder: "/home/me/.cache/app")
    /// let executor = SocketExecutor()
    ///     .caching(in: store, partition: .named("octocat"))
    /// ```
    ///
    /// A file appears whole or not at all, so a process can end at any time. Several processes can use one folder. The
    /// least recently used entries are removed; the time of a use is recorded at most once a minute. A file that is
    /// truncated, damaged, malformed or not private is removed. The names and the checksums of files depend on a secret
    /// key in the file `key`, so the folder contains no URLs or credentials of requests. Bodies and headers of
    /// responses are not encrypted.
    ///
    /// If the disk is full, the folder cannot be created, read or written, or others can write to it and it is not
    /// sticky, requests are sent as if nothing were stored, and ``lastProblem`` contains the reason. If the folder
    /// cannot be written, an invalid entry remains; this store does not use it again, but other processes can. After
    /// 4,096 such entries the store uses none. While the folder cannot be listed, no entry beyond the capacity is
    /// added. The first entry creates the folder, also after it was removed. On Linux, OpenSSL computes the hashes.
    public final class DiskStore: CacheStore {
        /// The path of the folder.
        package let folder: String
        /// The maximum size of all entries in bytes.
        package let capacity: Int

        private let state = Lock(State())
        private let secret: FolderSecret
        let invalidations = CacheInvalidations()

        private struct State: Sendable {
            /// The size of all files when they were last listed, plus what has been written since.
            var size = 0
            /// The bytes written since the files were listed.
            var written = 0
            var isTrimming = false
            /// The times of the last recorded uses, in seconds since 1970.
            var uses: [String: Int] = [:]
            /// The invalid files that could not be removed.
            var unremovable: Set<String> = []
            /// Whether too many files could not be removed to remember them; then no file is used.
            var hasTooManyUnremovable = false
            /// The number of requested removals of all entries; an entry whose file is unknown requires one.
            var requestedRemovals = 0
            /// The number of completed removals; while it is smaller, no entry is used.
            var doneRemovals = 0
            /// Whether the files could not be listed when some of them had to be removed.
            var isUnlisted = false
            var problem: String?
        }

        /// Creates a store; nothing is read or written before the first use.
        ///
        /// - Parameters:
        ///   - folder: The path of the folder, which should contain nothing else.
        ///   - capacity: The maximum size of all entries in bytes; by default 256 MiB. Each process that uses the
        ///     folder can exceed it by a sixteenth for a short time. Negative numbers count as 0, and nothing is stored
        ///     then.
        public init(folder: String, capacity: Int = 256 << 20) {
            self.folder =
                folder.utf8.count > 1 && folder.hasByteSuffix("/") ? String(folder.droppingLastBytes(1)) : folder
            self.capacity = max(0, capacity)
            secret = FolderSecret(in: self.folder)
        }

        /// The reason why the last operation failed, with the path; nil if none has failed.
        public var lastProblem: String? { state.withLock { $0.problem } }

        /// Returns the entry for a key; nil if there is none.
        public func entry(for key: Key) async -> Entry? { entryNow(for: key) }

        /// Replaces the entry for a key; an entry that is larger than the capacity is not stored.
        public func store(_ entry: Entry, for key: Key) async {
            await secret.create()
            storeNow(entry, for: key)
        }

        /// Removes the entry for a key, if there is one.
        public func removeEntry(for key: Key) async {
            removeEntryNow(for: key)
        }

        /// Removes all entries; other files remain.
        ///
        /// If the folder cannot be listed now, for example without free descriptors, or one of its files cannot be
        /// examined, this store uses no entry until a later use has removed all. Other processes may use them until
        /// then.
        public func removeAll() async { removeAllNow() }
    }
}

// MARK: Reading and writing

extension Caching.DiskStore {
    /// The first bytes of each file, with the version of the format.
    private static let magic = Array("RQCACHE1".utf8)
    private static let suffix = ".entry"
    /// The number of files that this store remembers as unusable; beyond it, no file is used.
    private static let maximumUnremovable = 4_096

    /// Returns the entry for a key, on the calling thread.
    package func entryNow(for key: Caching.Key) -> Caching.Entry? {
        guard let name = name(for: key, creating: false), mayUse(name) else { return nil }
        let path = path(name)
        do throws(FileError) {
            let beginning = Self.magic + name.utf8
            guard let bytes = try PrivateFile.contents(of: path, limit: capacity, beginningWith: beginning) else {
                return nil
            }
            if let entry = entry(in: bytes, named: name) {
                guard mayUse(name) else { return nil }
                recordUse(of: name)
                return entry
            }
            record("\(FileError.malformed(path: path))")
        } catch {
            record("\(error)")
            // A file that cannot be opened now, for example without free descriptors, may be intact.
            if error.concernsNoFile { return nil }
        }
        remove(name)
        return nil
    }

    package func removeEntryNow(for key: Caching.Key) {
        if let name = name(for: key, creating: false) {
            remove(name)
        } else if !PrivateFolder.isMissing(path("key")) {
            // Without the key, which cannot be read without free descriptors, the name of the entry is unknown.
            state.withLock { $0.requestedRemovals += 1 }
        }
    }

    /// Removes all entries, on the calling thread.
    ///
    /// If that fails, no entry is used until a later attempt succeeds.
    package func removeAllNow() {
        state.withLock { $0.requestedRemovals += 1 }
        removeAsRequested()
    }

    /// Removes all entries if that was requested but not completed.
    private func removeAsRequested() {
        let number = state.withLock { $0.requestedRemovals }
        guard let files = files() else { return }
        for file in files where isEntry(file) { remove(file.name) }
        state.withLock { state in
            // An entry may have been added after the list was made, so a removal that was requested later is not
            // complete.
            state.doneRemovals = max(state.doneRemovals, number)
            (state.size, state.isUnlisted) = (0, false)
        }
    }

    package func storeNow(_ entry: Caching.Entry, for key: Caching.Key) {
        guard !entry.isMemoryOnly, entry.size <= capacity else {
            return removeEntryNow(for: key)
        }
        // The second attempt creates the folder again, which may have been removed.
        for isRepeated in [false, true] {
            guard let name = name(for: key, creating: true) else { return removeEntryNow(for: key) }
            do throws(FileError) {
                let bytes = bytes(of: entry, named: name)
                guard hasSpace(for: bytes.count) else { return remove(name) }
                try write(bytes, to: path(name))
                return added(bytes.count, as: name)
            } catch {
                record("\(error)")
                // The former entry must not be used in place of the new one.
                remove(name)
                guard case .system(let cause, _) = error else { return }
                if cause.isNoSpace { return trim(to: capacity / 2) }
                guard cause.isNotFound, !isRepeated else { return }
                secret.forget()
            }
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(FileError) {
        // Not synchronized to the disk: after a crash of the system, the checksum shows what is missing.
        var writer = try FileWriter(replacing: path)
        try bytes.withUnsafeBufferPointer { buffer throws(FileError) in
            try writer.write(UnsafeRawBufferPointer(buffer))
        }
        try writer.finish()
    }

    private func bytes(of entry: Caching.Entry, named name: String) -> [UInt8] {
        var writer = CacheEntryWriter()
        writer.bytes.reserveCapacity(entry.size + 256)
        writer.bytes += Self.magic
        writer.bytes += name.utf8
        switch entry.content {
        case .response(let response): writer.append(response)
        case .variants(let list): writer.append(list)
        }
        let secret = secret.known ?? []
        writer.append(writer.bytes.withUnsafeBytes { CacheChecksum.of($0, secret) })
        return writer.bytes
    }

    private func entry(in bytes: [UInt8], named name: String) -> Caching.Entry? {
        let secret = secret.known ?? []
        let start = Self.magic.count + name.utf8.count
        let content: Caching.Entry.Content? = bytes.withUnsafeBytes { buffer in
            guard buffer.count > start + 8 else { return nil }
            let payload = UnsafeRawBufferPointer(rebasing: buffer[..<(buffer.count - 8)])
            let checksum = UInt64(
                littleEndian: buffer.loadUnaligned(fromByteOffset: payload.count, as: UInt64.self))
            guard payload.starts(with: Self.magic), payload[Self.magic.count..<start].elementsEqual(name.utf8),
                CacheChecksum.of(payload, secret) == checksum
            else { return nil }
            var reader = CacheEntryReader(UnsafeRawBufferPointer(rebasing: payload[start...]))
            return reader.content()
        }
        return content.map(Caching.Entry.init)
    }

    /// Removes the file of an entry; if that fails, records that the file must not be used.
    private func remove(_ name: String) {
        guard let error = PrivateFolder.remove(path(name)) else { return }
        state.withLock { state in
            state.problem = "an invalid entry remains, and is not used: \(error)"
            if state.unremovable.count < Self.maximumUnremovable {
                state.unremovable.insert(name)
            } else {
                state.hasTooManyUnremovable = true
            }
        }
    }

    private func mayUse(_ name: String) -> Bool {
        if state.withLock({ $0.requestedRemovals > $0.doneRemovals }) {
            removeAsRequested()
            return false
        }
        return state.withLock { !$0.hasTooManyUnremovable && !$0.unremovable.contains(name) }
    }

    private func record(_ problem: String) { state.withLock { $0.problem = problem } }
}

// MARK: Names

extension Caching.DiskStore {
    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Returns the name of the file for a key; nil if the folder has no secret.
    ///
    /// If `creating` is true, a missing secret is created.
    private func name(for key: Caching.Key, creating: Bool) -> String? {
        guard let secret = secret(creating: creating) else { return nil }
        do throws(HashError) {
            let code = try SystemHashes.shared.authenticationCode(
                of: Data(key.text.utf8), key: Data(secret), with: .sha256)
            return HexadecimalText.of(code) + Self.suffix
        } catch {
            record("\(error)")
            return nil
        }
    }

    /// Returns the secret key of the folder, from memory or from its file.
    private func secret(creating: Bool) -> [UInt8]? {
        if let secret = secret.known { return secret }
        do {
            guard let found = try secret.load(creating: creating) else { return nil }
            if found.isFirst { trim(to: capacity) }
            return found.secret
        } catch {
            record("\(error)")
            return nil
        }
    }
}

// MARK: Size

extension Caching.DiskStore {
    private func isEntry(_ file: PrivateFolder.File) -> Bool {
        file.name.utf8.count == 64 + Self.suffix.utf8.count && file.name.hasByteSuffix(Self.suffix)
    }

    /// Returns the files of the folder; nil if it cannot be listed.
    private func files() -> [PrivateFolder.File]? {
        do throws(FileError) {
            return try PrivateFolder.files(in: folder)
        } catch {
            if case .system(let cause, _) = error, cause.isNotFound { return [] }
            record("\(error)")
            return nil
        }
    }

    private func added(_ count: Int, as name: String) {
        let isDue = state.withLock { state in
            state.unremovable.remove(name)
            state.size += count
            state.written += count
            return !state.isTrimming && (state.size > capacity || state.written > capacity / 16)
        }
        if isDue { trim(to: capacity) }
    }

    /// Returns whether there is space for a file of `count` bytes, after removing others if necessary.
    private func hasSpace(for count: Int) -> Bool {
        guard state.withLock({ $0.isUnlisted && $0.size + count > capacity }) else { return true }
        trim(to: capacity)
        return state.withLock { !$0.isUnlisted }
    }

    /// Removes the least recently used files until the others have at most `limit` bytes.
    private func trim(to limit: Int) {
        let isFirst = state.withLock { state in
            defer { state.isTrimming = true }
            return !state.isTrimming
        }
        guard isFirst else { return }
        guard let files = files() else {
            return state.withLock { ($0.written, $0.isUnlisted, $0.isTrimming) = (0, true, false) }
        }
        var entries = files.filter(isEntry)
        var size = entries.reduce(0) { $0 + $1.size }
        if size > limit {
            entries.sort { $0.modified > $1.modified }
            // A little more than necessary: otherwise, each new file would list all files again.
            while size > limit / 10 * 9, let file = entries.popLast() {
                PrivateFolder.remove(path(file.name))
                size -= file.size
            }
        }
        removeAbandoned(in: files)
        state.withLock { state in
            (state.size, state.written, state.isTrimming, state.isUnlisted) = (size, 0, false, false)
        }
    }

    /// Removes the temporary files of processes that ended while they wrote.
    private func removeAbandoned(in files: [PrivateFolder.File]) {
        let limit = Int(Date().timeIntervalSince1970) - 600
        for file in files
        where file.name.hasBytePrefix(".requests-") && file.name.hasByteSuffix(".part") && file.modified < limit {
            PrivateFolder.remove(path(file.name))
        }
    }

    private func recordUse(of name: String) {
        let now = Int(Date().timeIntervalSince1970)
        let isDue = state.withLock { state in
            if let last = state.uses[name], now - last < 60, last <= now { return false }
            if state.uses.count >= 4_096 { state.uses = [:] }
            state.uses[name] = now
            return true
        }
        if isDue { PrivateFolder.touch(path(name)) }
    }
}

extension Caching.DiskStore: CustomStringConvertible, CustomReflectable {
    /// The path of the store, without its content.
    public var description: String { "cache at \(ErrorText.quoted(folder))" }

    /// The mirror that `dump` prints: the path.
    public var customMirror: Mirror { Mirror(self, children: ["folder": folder]) }
}
