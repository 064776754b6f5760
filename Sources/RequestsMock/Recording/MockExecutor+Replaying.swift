@_spi(Lock) import Requests

extension MockExecutor {
    /// The order in which a replay accepts requests.
    @nonexhaustive
    public enum ReplayOrder: Hashable, Sendable {
        /// Requests in any order.
        ///
        /// Of several entries for the same method and URL, the first with an equal request body responds, which
        /// distinguishes GraphQL queries; if no body is equal, the first entry responds. JSON is compared by value, and
        /// secrets as the standard redaction writes them.
        case strict
        /// The requests must arrive in the order of the recording; any other request is an error, which no retry
        /// repeats.
        case ordered
    }

    /// Creates a mock that responds as recorded.
    ///
    /// A request matches an entry with the same method and URL, and the same query items in any order. Values and path
    /// components that were redacted are not compared. If a request matches several such URLs, the first recorded entry
    /// that has not been replayed responds. Fields are not compared, and bodies only as ``ReplayOrder/strict``
    /// specifies. A request without a remaining entry fails with the report of the mock; `verify()` fails while an
    /// entry has not been replayed. Recorded bodies have no content coding. An exchange that failed while it was
    /// recorded fails with the reason `connectionLost`. A body that was not recorded, because it was too long, not read
    /// to its end, or could not be decoded, fails with `other` when it is read.
    ///
    /// - Parameters:
    ///   - archive: The recording.
    ///   - order: The order in which requests are accepted.
    ///   - fileID: The file of the call, for reports.
    ///   - line: The line of the call, for reports.
    public init(
        replaying archive: HARArchive, order: ReplayOrder = .strict, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init()
        let sequence = order == .ordered ? ReplaySequence(archive.entries) : nil
        var groups: [ReplayKey: [IndexedEntry]] = [:]
        var keys: [ReplayKey] = []
        for (index, entry) in archive.entries.enumerated() {
            let key = ReplayKey(entry)
            if groups[key] == nil { keys.append(key) }
            groups[key, default: []].append((index, entry))
        }
        // The newest stub that matches responds: a stub for a URL without redacted parts precedes those that ignore
        // such parts. Of the latter, the one with the first remaining entry responds (decision 0050).
        for key in keys.filter(\.isRedacted) + keys.filter({ !$0.isRedacted }) {
            let entries = groups[key] ?? []
            let group = ReplayGroup(entries, comparesBodies: order == .strict)
            let result = MockResult<Void>.make { request in
                guard let (index, entry) = group.next(for: request) else { throw ResultScript.Exhausted() }
                try sequence?.advance(to: index)
                return try entry.mockResponse()
            }
            let results = Array(repeating: result, count: entries.count)
            onExactly(
                key.method, key.url, respond: .sequence(results), calls: results.count,
                from: key.isRedacted ? group : nil, fileID: fileID, line: line)
        }
    }
}

typealias IndexedEntry = (index: Int, entry: HARArchive.Entry)

/// The key of requests that match one exact pattern, so that the same entries respond to them.
private struct ReplayKey: Hashable {
    private struct Pattern: Hashable {
        let method: ByteText
        let origin: ByteText
        /// The components of the path; all redacted components are equal.
        let components: [ByteText]
        let items: [StubPattern.QueryItem: Int]
    }

    let method: HTTPMethod
    let url: String
    /// Whether a part of the URL was redacted, and is not compared.
    let isRedacted: Bool
    private let pattern: Pattern

    init(_ entry: HARArchive.Entry) {
        method = entry.method
        url = entry.url
        let target = try? TargetURI(entry.url)
        let query = StubPattern.items(of: target?.query ?? "").map { $0.isHidden ? $0.hidden : $0.withoutSecret }
        let path = StubPattern.pathComponents(of: target?.path ?? entry.url)
        isRedacted = query.contains(where: \.isHidden) || path.contains(where: \.isRedacted)
        pattern = Pattern(
            method: ByteText(ASCIIFolding.folded(method.rawValue)), origin: ByteText(target?.origin ?? ""),
            components: path.map { $0.isRedacted ? ByteText(Redaction.placeholder) : $0 },
            items: Dictionary(query.map { ($0, 1) }, uniquingKeysWith: +))
    }

    static func == (left: Self, right: Self) -> Bool { left.pattern == right.pattern }

    func hash(into hasher: inout Hasher) { hasher.combine(pattern) }
}

/// The position in a recording that is replayed in order.
private final class ReplaySequence: Sendable {
    private let names: [String]
    private let position = Lock(0)

    init(_ entries: [HARArchive.Entry]) {
        names = entries.map { "\($0.method) \(Redaction.standard.redacted(reference: $0.url))" }
    }

    func advance(to index: Int) throws(RequestError) {
        let expected = position.withLock { position in
            if position == index { position += 1 }
            return position
        }
        if expected == index + 1 { return }
        let next = expected < names.count ? names[expected] : "no request"
        let text = RequestError.singleLine("the replay expected \(next), and received \(names[index])")
        throw RequestError(.other, detail: text).permanent().beforeSending()
    }
}

extension HARArchive.Entry {
    fileprivate func mockResponse() throws(RequestError) -> MockResponse {
        guard let status else {
            throw RequestError(.connectionLost, detail: "the recorded exchange \(comment ?? "failed")")
        }
        var header = responseHeader
        // The recorded body is decoded and has no framing.
        for name: Field.Name in [.contentEncoding, .contentLength, .transferEncoding, "Connection", "Keep-Alive"] {
            header.remove(name)
        }
        guard let data = responseBody.data else {
            // Only reading the body fails: the body of a redirect, for example, is not needed.
            let size = responseBody.size > 0 ? " of \(ErrorText.bytes(responseBody.size))" : ""
            let reason = comment.map { ": \($0)" } ?? ""
            let detail = RequestError.singleLine("the recording lacks the body\(size)\(reason)")
            return MockResponse(
                status: status, header: header, body: [.failure(RequestError(.other, detail: detail).permanent())])
        }
        return MockResponse(status: status, header: header, body: data.isEmpty ? [] : [.bytes(data)])
    }
}
