@_spi(Lock) import Requests
import RequestsPOSIX

/// The functions for wire snapshots that do not depend on the type of an endpoint.
package enum WireSnapshot {
    package static let maximumBytes = 16 << 20

    /// Returns the request of `endpoint` as deterministic and redacted text.
    package static func text<E: Endpoint>(of endpoint: E, from api: E.API) throws(WireSnapshotError) -> String {
        try text(of: request(of: endpoint, from: api), "\(E.self)")
    }

    private static func request<E: Endpoint>(
        of endpoint: E, from api: E.API
    ) throws(WireSnapshotError) -> PreparedRequest {
        do throws(RequestError) {
            return try endpoint.request(from: api).prepared()
        } catch {
            throw WireSnapshotError(.notPrepared, "\(E.self): \(error)")
        }
    }

    private static func text(of request: PreparedRequest, _ name: String) throws(WireSnapshotError) -> String {
        let text = request.wireText
        guard text.utf8.count <= maximumBytes else {
            throw WireSnapshotError(.tooLarge, "\(name): the wire text has \(ErrorText.bytes(text.utf8.count))")
        }
        guard let boundary = request.boundary else { return text }
        return SecretFinder([boundary]).redacted(text)
    }

    /// Returns the requests of all cases of `type` as text, each after a line that names its case.
    package static func text<E: Endpoint & CaseIterable>(
        ofAllCasesOf type: E.Type, from api: E.API
    ) throws(WireSnapshotError) -> String {
        var parts: [String] = []
        for endpoint in type.allCases {
            let request = try request(of: endpoint, from: api)
            // Without the values of the case, which may be secrets.
            let name = String("\(endpoint)".splitBytes(at: "(", maxSplits: 1).first ?? "")
            let shown = RequestError.singleLine(ExchangeRedaction(request).text(name))
            parts.append("### \(shown)\n\(trimmed(try text(of: request, "\(type)")))\n")
        }
        return parts.joined(separator: "\n")
    }

    /// Throws if `text` is not `expected`.
    package static func compare(_ text: String, with expected: String, named name: String) throws(WireSnapshotError) {
        let (text, expected) = (trimmed(text), trimmed(expected))
        if text.hasSameBytes(as: expected) { return }
        let lines = TextDifference(expected: expected, received: text).lines
        throw WireSnapshotError(
            .differs,
            (["\(name): the wire text differs (-: expected, +: received)"] + lines.map { "  \($0)" })
                .joined(separator: "\n"))
    }

    /// Returns `text` with `\n` as line end, without newlines at its end.
    static func trimmed(_ text: String) -> String {
        var bytes = Array(text.utf8)
        // Editors and version control may change line ends.
        if bytes.contains(0x0D) {
            bytes = bytes.enumerated().compactMap { index, byte in
                byte == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? nil : byte
            }
        }
        let count = bytes.lastIndex { $0 != 0x0A }.map { $0 + 1 } ?? 0
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

// MARK: Files

extension WireSnapshot {
    package struct File {
        private let path: String
        private let isRecording: Bool

        /// The texts that this process has recorded, by path, with the files that it has written.
        private static let recorded = Lock<[ByteText: (text: String, file: OwnedFile?)]>([:])

        /// Creates the file at `path`, which is relative to the folder of `filePath`.
        package init(
            _ path: String, besides filePath: StaticString,
            isRecording: Bool = ProcessInfo.processInfo.environment["REQUESTS_RECORD"] != nil
        ) {
            let folder = URL(filePath: "\(filePath)").deletingLastPathComponent()
            self.path =
                path.hasBytePrefix("/") ? path : folder.appending(path: path).path(percentEncoded: false)
            self.isRecording = isRecording
        }

        private var name: String { URL(filePath: path).lastPathComponent }

        /// Throws if the file does not contain `text`; writes it if snapshots are recorded.
        package func check(_ text: String) throws(WireSnapshotError) {
            let text = WireSnapshot.trimmed(text) + "\n"
            if isRecording { return try record(text) }
            guard let expected = try contents() else {
                throw WireSnapshotError(
                    .missing, "\(name): the snapshot does not exist; set REQUESTS_RECORD=1 to record:\n\(text)")
            }
            do throws(WireSnapshotError) {
                try WireSnapshot.compare(text, with: expected, named: name)
            } catch {
                throw WireSnapshotError(error.problem, "\(error.description)\n  set REQUESTS_RECORD=1 to record it")
            }
        }

        /// Writes `text`, unless the file contains it.
        ///
        /// It throws if this process, or another one that is running, has recorded another text in the file.
        private func record(_ text: String) throws(WireSnapshotError) {
            // Under the lock, because the second of two recorders must find the text of the first.
            try Self.recorded.withLock { recorded throws(WireSnapshotError) in
                if let other = recorded[ByteText(path)], !other.text.hasSameBytes(as: text) {
                    throw WireSnapshotError(
                        .recordedTwice, "\(name): another check has recorded a different text; use two files")
                }
                if recorded[ByteText(path)] != nil, let existing = try contents(), existing.hasSameBytes(as: text) {
                    return
                }
                // The file was changed or removed since this process wrote it, so it may be replaced.
                recorded[ByteText(path)] = nil
                do {
                    recorded[ByteText(path)] = (text, try write(text))
                } catch let error as WireSnapshotError {
                    throw error
                } catch FileError.locked(_) {
                    throw WireSnapshotError(
                        .recordedTwice, "\(name): another process has recorded a different text; use two files")
                } catch {
                    throw WireSnapshotError(.inaccessible, "\(name): cannot be written: \(error)")
                }
            }
        }

        /// Writes `text` unless the file contains it.
        ///
        /// - Returns: The file, which no other recorder can replace while the value exists; nil if it was not written.
        private func write(_ text: String) throws -> OwnedFile? {
            let former = Result { try OwnedFile.open(path) }
            // A file that is not text may not be a snapshot, so it is an error.
            if let existing = try contents(), existing.hasSameBytes(as: text) { return nil }
            let url = URL(filePath: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))"
            defer { try? FileManager.default.removeItem(atPath: temporary) }
            try Data(text.utf8).write(to: URL(filePath: temporary), options: .withoutOverwriting)
            let file = try OwnedFile.open(temporary)
            // A file that another recorder has is an error only if the texts differ.
            try file?.move(to: path, replacing: former.get())
            return file
        }

        /// Returns the text of the file; nil if it does not exist.
        private func contents() throws(WireSnapshotError) -> String? {
            let data: [UInt8]
            do throws(FileError) {
                // A device or a pipe is refused, because reading it might not end.
                data = try FileReader(path: path).contents(limit: WireSnapshot.maximumBytes)
            } catch .system(let error, _) where error.isNotFound {
                return nil
            } catch .tooLarge {
                let limit = ErrorText.bytes(WireSnapshot.maximumBytes)
                throw WireSnapshotError(.tooLarge, "\(name): the file has more than \(limit)")
            } catch {
                throw WireSnapshotError(.inaccessible, "\(name): cannot be read: \(error)")
            }
            guard let text = String(validating: data, as: UTF8.self) else {
                throw WireSnapshotError(.notText, "\(name): the file is not UTF-8 text; remove it to record it again")
            }
            return text
        }
    }
}

extension PreparedRequest {
    /// The boundary of a multipart body, without quotation marks; nil for other bodies.
    fileprivate var boundary: String? {
        guard let type = header[.contentType], type.hasBytePrefix("multipart/") else { return nil }
        let parameter = type.splitBytes(at: ";").map { $0.splitBytes(at: " ").joined() }.first {
            $0.hasBytePrefix("boundary=")
        }
        return parameter.map { String($0.droppingFirstBytes(9)).replacingBytes { $0 == 0x22 ? "" : nil } }
    }
}
