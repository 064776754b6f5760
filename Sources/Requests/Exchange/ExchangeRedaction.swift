/// The redaction of all text about one exchange: it knows the names of secrets, and searches for their values.
///
/// Every description, log, trace, recording and snapshot uses it (decision 0063).
package struct ExchangeRedaction: Sendable {
    /// The names of secrets; nil if secrets are shown.
    private let names: Redaction?
    /// The names of fields that are secret in this request only, because they are not sent to other origins.
    private let fieldNames: Set<Field.Name>
    private let finder: SecretFinder
    /// Whether the bodies of the exchange are hidden.
    package let hidesBodies: Bool

    /// The number of a response's cookies that are searched for; searching for many would take long.
    package static let searchedCookies = 50

    /// A redaction that changes nothing.
    static let revealed = ExchangeRedaction()

    private init() {
        (names, fieldNames, finder, hidesBodies) = (nil, [], SecretFinder([]), false)
    }

    /// Creates the redaction of an exchange.
    ///
    /// - Parameters:
    ///   - request: The request; nil if there is none.
    ///   - names: The names of secrets.
    ///   - sent: The request as it was sent, with the fields of all middleware; nil if it is not known.
    ///   - secretsOfExecutor: The secret fields that the executor has added to it.
    ///   - response: The response, whose cookies and URLs can contain secrets; nil if it was not received.
    ///   - body: The body of the response.
    package init(
        _ request: PreparedRequest?, _ names: Redaction = .standard, sent: PreparedRequest? = nil,
        secretsOfExecutor: [Field] = [], response: ResponseHead? = nil, body: Data? = nil
    ) {
        self.names = names
        let requests = [request, sent].compactMap(\.self)
        fieldNames = requests.reduce(into: []) { $0.formUnion($1.redirectPolicy.sensitiveFields) }
        hidesBodies = requests.contains { $0.hasSecretBodies }
        var secrets = secretsOfExecutor.flatMap(CredentialText.secrets)
        for request in requests { secrets += names.secrets(of: request) }
        if let response {
            secrets += names.secrets(ofSetCookie: response.header)
            if let body { secrets += names.secrets(ofBody: body, response.header) }
        }
        finder = SecretFinder(secrets.flatMap(CredentialText.variants))
    }

    // MARK: Names

    /// Returns whether values of fields named `name` are hidden.
    package func isSecret(_ name: Field.Name) -> Bool {
        names.map { $0.isSecret(name) || fieldNames.contains(name) } ?? false
    }

    /// Returns whether values of items, parts and members named `name` are hidden.
    func isSecret(item name: String) -> Bool { names?.isSecret(name) ?? false }

    // MARK: Text

    /// Returns `text` without the values of secrets.
    package func text(_ text: String) -> String { finder.redacted(text) }

    /// Returns a reference without its userinfo and secret query items.
    package func reference(_ text: String) -> String {
        finder.redacted(names?.redacted(reference: text) ?? text)
    }

    /// Returns a query without secrets.
    func query(_ text: String) -> String { finder.redacted(names?.redacted(query: text) ?? text) }

    /// Returns the URL of `target` without secrets.
    package func url(_ target: TargetURI) -> String {
        finder.redacted(names.map { target.redacted(by: $0) } ?? target.absoluteString)
    }

    /// Returns the value of `field` without secrets.
    package func value(of field: Field) -> String {
        if isSecret(field.name) { return Redaction.placeholder }
        return finder.redacted(names?.redacted(valueOf: field) ?? field.value)
    }

    // MARK: Bodies

    /// The number of bytes beyond an excerpt that a search must include to find every secret that begins inside the
    /// excerpt.
    package var reach: Int { finder.reach }

    /// Returns a body without its secrets, which are found by its media type and in its text.
    ///
    /// - Parameters:
    ///   - body: The body, or its beginning.
    ///   - header: The header that describes it.
    ///   - limit: The number of bytes to redact and return; secrets that begin before it are searched for beyond it.
    /// - Returns: The redacted bytes before `limit`.
    package func body(_ body: [UInt8], _ header: Header, upTo limit: Int = .max) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        for value in secretValues(in: body, header) where value.range.lowerBound < limit {
            result += body[position..<value.range.lowerBound]
            result += (value.isJSON ? "\"\(Redaction.placeholder)\"" : Redaction.placeholder).utf8
            position = value.range.upperBound
        }
        let end = min(limit, body.count)
        if position < end { result += body[position..<end] }
        return result
    }

    /// Returns whether a secret of `body` overlaps `range`.
    func hasSecret(in range: Range<Int>, of body: Data, _ header: Header) -> Bool {
        let searched = Array(body.prefix(range.upperBound + finder.reach))
        return secretValues(in: searched, header).contains { range.overlaps($0.range) }
    }

    /// Returns the secrets of a body, in order and without overlaps.
    private func secretValues(in body: [UInt8], _ header: Header) -> [SecretValue] {
        let named = names?.secretValues(in: body, header[.contentType]) ?? []
        let found = finder.ranges(in: body).map { SecretValue(range: $0, isJSON: false) }
        if found.isEmpty { return named }
        let all = (named + found).sorted { $0.range.lowerBound < $1.range.lowerBound }
        return all.reduce(into: []) { merged, value in
            guard let last = merged.last, value.range.lowerBound < last.range.upperBound else {
                return merged.append(value)
            }
            guard value.range.upperBound > last.range.upperBound else { return }
            // If another secret extends a JSON value, the result is a JSON value only if both begin at the same place.
            let isWhole = value.range.lowerBound == last.range.lowerBound
            merged[merged.count - 1] = SecretValue(
                range: last.range.lowerBound..<value.range.upperBound, isJSON: isWhole && value.isJSON)
        }
    }
}

extension PreparedRequest {
    /// Returns the redaction of this request, or one that shows its secrets.
    func redaction(_ secrets: Redaction.Secrets, _ names: Redaction) -> ExchangeRedaction {
        secrets == .redacted ? ExchangeRedaction(self, names) : .revealed
    }
}

extension Redaction {
    /// The maximum length in bytes of a body whose secret values are searched for in other text.
    ///
    /// A body of any length would be read again for each line of a log.
    private static let searchedBody = 256 << 10

    fileprivate func secrets(of request: PreparedRequest) -> [String] {
        let fieldNames = request.redirectPolicy.sensitiveFields
        let fields = request.header
        var secrets = fields.filter { isSecret($0.name) || fieldNames.contains($0.name) }
            .flatMap(CredentialText.secrets)
        secrets += self.secrets(of: request.target)
        secrets += fields.flatMap(self.secrets(ofURLIn:))
        if case .bytes(let data) = request.body { secrets += self.secrets(ofBody: data, request.header) }
        return secrets + (request.secretsOfBodies ?? [])
    }

    /// Returns the secrets of a target: in its userinfo, query and fragment.
    func secrets(of target: TargetURI) -> [String] {
        var secrets = [target.query, target.fragment].compactMap(\.self).flatMap(secrets(ofQuery:))
        if let userinfo = target.userinfo {
            let (name, password) = TargetURI.credentials(ofUserinfo: userinfo)
            secrets += [password, Data("\(name):\(password)".utf8).base64EncodedString()]
            secrets += userinfo.splitBytes(at: ":", maxSplits: 1).dropFirst().map(String.init)
        }
        return secrets
    }

    /// Returns the secrets in the query of a field whose value is one URL.
    private func secrets(ofURLIn field: Field) -> [String] {
        guard [.referer, .location, .contentLocation].contains(field.name) else { return [] }
        return field.value.splitBytes(at: "?").dropFirst().flatMap { $0.splitBytes(at: "#") }
            .flatMap { secrets(ofQuery: $0) }
    }

    /// Returns the values of the cookies that a response sets.
    fileprivate func secrets(ofSetCookie header: Header) -> [String] {
        header.values(of: .setCookie).prefix(ExchangeRedaction.searchedCookies).flatMap { cookie in
            cookie.splitBytes(at: ";").first.map(CredentialText.cookieValues) ?? []
        }
    }

    /// Returns the values with secret names in the beginning of a body, as texts.
    fileprivate func secrets(ofBody body: Data, _ header: Header) -> [String] {
        let bytes = Array(body.prefix(Self.searchedBody))
        let mediaType = header[.contentType]
        let isForm = mediaType.flatMap(MediaType.init)?.subtype == .urlEncodedForm
        return secretValues(in: bytes, mediaType).prefix(50).flatMap { value -> [String] in
            let text = String(decoding: bytes[value.range], as: UTF8.self)
            if !value.isJSON {
                return isForm
                    ? secrets(ofText: PercentEncoding.decode(text.replacingBytes { $0 == 0x2B ? " " : nil })) : [text]
            }
            guard let json = try? JSONValue(parsing: Data(text.utf8)) else { return [] }
            // Only a word or a number can be repeated elsewhere.
            switch json {
            case .string(let string): return secrets(ofText: string)
            case .array, .object: return []
            default: return [text]
            }
        }
    }

    /// Returns the text of a value, and the secrets among its members if it is JSON itself.
    private func secrets(ofText text: String) -> [String] {
        // A string needs twice as many escapes as a string inside it, so there are few levels.
        [text] + secrets(ofBody: Data(text.utf8), [.contentType(.json)])
    }
}
