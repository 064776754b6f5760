import Requests
import RequestsPOSIX

extension HARArchive {
    /// Reads an archive of this library, a browser or a proxy.
    ///
    /// Only the members that a replay needs are required: `log.entries`, and of each entry `startedDateTime` and the
    /// method and URL of the request. Any other member may be missing. An entry without a response, or whose status is
    /// less than 1, as browsers write it for a cancelled request, is an exchange without a response.
    ///
    /// An entry that is malformed or cannot be replayed, such as a CONNECT or a data URL, is left out, and
    /// ``skippedEntries`` contains the reason.
    ///
    /// - Throws: ``HARError`` if the data is longer than 256 MiB, is not JSON, or has no list of entries.
    public init(parsing data: Data) throws(HARError) {
        guard data.count <= Self.maximumBytes else {
            throw HARError(.tooLarge, "the archive has \(ErrorText.bytes(data.count))")
        }
        let value: JSONValue
        do throws(JSONValue.SyntaxError) {
            // Some tools write a byte order mark.
            value = try JSONValue(parsing: data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data)
        } catch {
            throw HARError(.notJSON, "the archive is not JSON: \(error)")
        }
        let log = try HARMember(value, "").member("log")
        entries = []
        for element in try log.member("entries").elements() {
            do throws(HARError) {
                entries.append(try Entry(element))
            } catch {
                // One entry of many does not make the others useless (decision 0062).
                skippedEntries.append(error)
            }
        }
    }

    /// Reads the archive in a file.
    ///
    /// - Throws: ``HARError`` if the file cannot be read, is not JSON, or has no list of entries.
    public init(contentsOf path: String) throws(HARError) {
        let bytes: [UInt8]
        do throws(FileError) {
            // A device or a pipe is refused, because reading it might not end.
            bytes = try FileReader(path: path).contents(limit: Self.maximumBytes)
        } catch .tooLarge {
            throw HARError(
                .tooLarge, "\(ErrorText.quoted(path)) has more than \(ErrorText.bytes(Self.maximumBytes))")
        } catch {
            throw HARError(.inaccessible, "\(ErrorText.quoted(path)) cannot be read: \(error)")
        }
        try self.init(parsing: Data(bytes))
    }
}

extension HARArchive.Entry {
    /// Returns whether `url` has a scheme with which no HTTP request is sent.
    private static func hasOtherScheme(_ url: String) -> Bool {
        guard let scheme = TargetURI.scheme(of: url.utf8), !scheme.containsByte(".") else { return false }
        // A digit after the colon, like a dot before it, means a host and a port, such as localhost:80, which is an
        // error.
        if let next = url.utf8.dropFirst(scheme.utf8.count + 1).first, next &- 0x30 < 10 { return false }
        return !["http", "https"].contains(scheme)
    }

    fileprivate init(_ entry: HARMember) throws(HARError) {
        let request = try entry.member("request")
        let response = try entry.optional("response")
        let method = try request.member("method")
        let url = try request.member("url")
        if Self.hasOtherScheme(try url.string()) {
            throw HARError(.unsupported, at: url.path, "is not an HTTP URL")
        }
        if HTTPMethod(try method.string()) == .connect {
            throw HARError(.unsupported, at: method.path, "CONNECT opens a tunnel and has no response to replay")
        }
        let date = try entry.member("startedDateTime")
        guard let startedAt = Date(iso8601: try date.string()) else { throw date.invalid("is not an ISO 8601 date") }
        guard HTTPMethod(try method.string()).isValid else { throw method.invalid("is not an HTTP method") }
        guard (try? TargetURI(try url.string())) != nil else { throw url.invalid("is not an absolute URL") }
        let status = try response?.member("status")
        let code = try status?.integer() ?? 0
        if let status, 1...99 ~= code || code > 999 { throw status.invalid("is not a status") }
        self.init(
            startedAt: startedAt, method: HTTPMethod(try method.string()), url: try url.string(),
            requestHeader: try request.header(), status: code > 0 ? HTTPStatus(code) : nil,
            responseHeader: try response?.header() ?? .empty, comment: try entry.optional("comment")?.string())
        let version = try (response ?? request).optional("httpVersion")?.string()
        if let version, !["", "unknown"].contains(version) { httpVersion = version }
        if let body = try request.optional("postData") {
            var content = try HARArchive.Content(posted: body)
            // Without a text, the size distinguishes a body that was not recorded from an empty one.
            if content.size == 0, let size = try request.optional("bodySize")?.integer(), size != 0 {
                content.data = nil
                content.size = max(0, size)
            }
            requestBody = content
        }
        if let content = try response?.optional("content") { responseBody = try HARArchive.Content(content) }
        if let timings = try entry.optional("timings") { self.timings = try HARArchive.Timings(timings) }
    }
}

extension HARArchive.Content {
    /// Reads the body of a request: its text, or else its parameters as a form.
    fileprivate init(posted body: HARMember) throws(HARError) {
        let type = try body.optional("mimeType")?.string() ?? ""
        let text = try body.optional("text")?.string()
        if (text ?? "").isEmpty, let params = try body.optional("params")?.elements(), !params.isEmpty {
            self.init(mediaType: type, data: try Self.form(params, mediaType: type))
        } else {
            self.init(mediaType: type, data: text.map { Data($0.utf8) })
        }
    }

    /// Returns the bytes of a form; nil for a multipart form, because its parameters lack the boundaries and files.
    private static func form(_ params: [HARMember], mediaType: String) throws(HARError) -> Data? {
        var items: [QueryItems.Item] = []
        var isMultipart = MediaType(mediaType)?.type == .multipart
        for param in params {
            if try param.optional("fileName") != nil { isMultipart = true }
            let name = try param.member("name").string()
            items.append(QueryItems.Item(name: name, value: try param.optional("value")?.string()))
        }
        return isMultipart ? nil : Data(QueryItems(items).encoded().utf8)
    }

    fileprivate init(_ content: HARMember) throws(HARError) {
        self.init(mediaType: try content.optional("mimeType")?.string() ?? "", data: nil)
        if let text = try content.optional("text") {
            let encoding = try content.optional("encoding")
            switch try encoding?.string() {
            case .none: data = Data(try text.string().utf8)
            case .some(let name) where ASCIIFolding.areEqual(name, "base64"):
                guard let bytes = Data(base64Encoded: try text.string()) else { throw text.invalid("is not base64") }
                data = bytes
            case .some: throw (encoding ?? text).invalid("is not base64, the only encoding")
            }
        }
        size = max(0, try content.optional("size")?.integer() ?? data?.count ?? 0)
        // Browsers omit the text of an empty body. If they omit the text of another one, a comment gives the reason.
        if data == nil, size == 0, try content.optional("comment") == nil { data = Data() }
    }
}

extension HARArchive.Timings {
    fileprivate init(_ timings: HARMember) throws(HARError) {
        self.init()
        blocked = try timings.duration("blocked")
        lookup = try timings.duration("dns")
        connect = try timings.duration("connect")
        tls = try timings.duration("ssl")
        send = try timings.duration("send") ?? .zero
        wait = try timings.duration("wait") ?? .zero
        receive = try timings.duration("receive") ?? .zero
    }
}

/// A value of an archive and its path, for errors.
private struct HARMember {
    let value: JSONValue
    let path: String

    init(_ value: JSONValue, _ path: String) {
        self.value = value
        self.path = path
    }

    func invalid(_ problem: String) -> HARError { HARError(.invalidMember, at: path, problem) }

    /// Returns the member `name`; nil if it is missing or null.
    func optional(_ name: String) throws(HARError) -> HARMember? {
        guard let members = value.object else { throw invalid("is not an object") }
        guard let member = members[name], !member.isNull else { return nil }
        return HARMember(member, path.isEmpty ? name : "\(path).\(name)")
    }

    func member(_ name: String) throws(HARError) -> HARMember {
        if let member = try optional(name) { return member }
        throw HARError(.missingMember, at: path.isEmpty ? name : "\(path).\(name)", "is missing")
    }

    func elements() throws(HARError) -> [HARMember] {
        guard let elements = value.array else { throw invalid("is not an array") }
        return elements.enumerated().map { HARMember($1, "\(path)[\($0)]") }
    }

    func string() throws(HARError) -> String {
        guard let text = value.string else { throw invalid("is not a string") }
        return text
    }

    func integer() throws(HARError) -> Int {
        guard let number = value.int else { throw invalid("is not an integer") }
        return number
    }

    /// Returns the duration in milliseconds of the member `name`; nil if it is missing or negative.
    func duration(_ name: String) throws(HARError) -> Duration? {
        guard let member = try optional(name) else { return nil }
        // A year is more than any exchange, and its nanoseconds can be represented.
        guard let number = member.value.double, number.isFinite, number < 32e9 else {
            throw member.invalid("is not a duration in milliseconds")
        }
        return number < 0 ? nil : .nanoseconds(Int64((number * 1e6).rounded()))
    }

    /// Returns the fields, without the fields of later HTTP versions that begin with a colon.
    func header() throws(HARError) -> Header {
        var fields: [Field] = []
        for field in try optional("headers")?.elements() ?? [] {
            let name = try field.member("name").string()
            if name.hasBytePrefix(":") { continue }
            guard Field.Name(name).isValid else { throw try field.member("name").invalid("is not a field name") }
            // Browsers join repeated fields with line breaks.
            for value in try field.member("value").string().splitBytes(at: "\n", omittingEmptySubsequences: false) {
                guard !value.utf8.contains(where: Token.isForbiddenInValue) else {
                    throw try field.member("value").invalid("contains control characters")
                }
                fields.append(Field(name: Field.Name(name), value: String(value)))
            }
        }
        return Header(fields)
    }
}

extension Date {
    /// Creates the date that `text` describes; nil if it is not an ISO 8601 date.
    fileprivate init?(iso8601 text: String) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .flexibleISO8601
        guard let data = try? JSONEncoder().encode([text]), let date = try? decoder.decode([Date].self, from: data)
        else { return nil }
        self = date[0]
    }
}
