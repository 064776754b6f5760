@_spi(Lock) import Requests

extension MockExecutor {
    /// The order in which a replay accepts requests.
    @nonexhaustive
    public enum ReplayOrder: Hashable, Sendable {
        /// Requests in any order; requests for the same method and URL get their responses in the recorded order.
        case strict
        /// The requests of the recording in its order; any other request is an error, which no retry repeats.
        case ordered
    }

    /// Creates a mock that responds as recorded.
    ///
    /// A request matches an entry with the same method and URL. The query items must be the same in any order; the
    /// values of secret items are not compared, because recordings do not contain them. Fields and bodies are not
    /// compared. A request without an entry, and one more request than was recorded, fails with the report of the mock;
    /// `verify()` fails while an entry has not been replayed. Content codings were decoded when the responses were
    /// recorded. An exchange that failed while it was recorded fails with the reason `connectionLost`, and one whose
    /// body was not recorded, because it was too long or not read, with `other`.
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
        var groups: [ReplayKey: [(index: Int, entry: HARArchive.Entry)]] = [:]
        var keys: [ReplayKey] = []
        for (index, entry) in archive.entries.enumerated() {
            let key = ReplayKey(entry)
            if groups[key] == nil { keys.append(key) }
            groups[key, default: []].append((index, entry))
        }
        for key in keys {
            let results = (groups[key] ?? []).map { index, entry in
                MockResult<Void>.make { request in
                    try sequence?.advance(to: index, request)
                    return try entry.mockResponse()
                }
            }
            onExactly(
                key.method, key.url, respond: .sequence(results), calls: results.count, fileID: fileID, line: line)
        }
    }
}

/// The requests to which the same entries respond.
private struct ReplayKey: Hashable {
    let method: HTTPMethod
    let url: String
    private let items: [StubPattern.QueryItem: Int]
    private let location: ByteText

    init(_ entry: HARArchive.Entry) {
        method = entry.method
        url = entry.url
        let target = try? TargetURI(entry.url)
        let query = StubPattern.items(of: target?.query ?? "").map(\.withoutSecret)
        items = Dictionary(query.map { ($0, 1) }, uniquingKeysWith: +)
        location = ByteText("\(target?.origin ?? "")\(target?.path ?? entry.url)")
    }

    static func == (left: Self, right: Self) -> Bool {
        left.method == right.method && left.location == right.location && left.items == right.items
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(method)
        hasher.combine(location)
        hasher.combine(items)
    }
}

/// The position in a recording whose order is replayed.
private final class ReplaySequence: Sendable {
    private let names: [String]
    private let position = Lock(0)

    init(_ entries: [HARArchive.Entry]) {
        names = entries.map { "\($0.method) \(Redaction.standard.redacted(reference: $0.url))" }
    }

    func advance(to index: Int, _ request: PreparedRequest) throws(RequestError) {
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
    /// Returns the response of the entry.
    fileprivate func mockResponse() throws(RequestError) -> MockResponse {
        guard let status else {
            throw RequestError(.connectionLost, detail: "the recorded exchange \(comment ?? "failed")")
        }
        guard let data = responseBody.data else {
            throw RequestError(
                .other, detail: "the recording lacks the body of \(ErrorText.bytes(responseBody.size))"
            ).permanent()
        }
        var header = responseHeader
        // The recorded body is decoded and has no framing.
        for name: Field.Name in [.contentEncoding, .contentLength, .transferEncoding, "Connection", "Keep-Alive"] {
            header.remove(name)
        }
        return MockResponse(status: status, header: header, body: data.isEmpty ? [] : [.bytes(data)])
    }
}
