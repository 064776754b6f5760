import Requests
import RequestsPOSIX

extension HARArchive {
    /// The archive as JSON, with members sorted by name.
    public var json: Data {
        let log: JSONValue = [
            "log": [
                "version": "1.2", "creator": ["name": "Requests", "version": "1"],
                "entries": .array(entries.map(\.json)),
            ]
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        // Encoding cannot fail, because all numbers are finite and all texts are strings.
        return (try? encoder.encode(log)) ?? Data()
    }

    /// Writes the archive to a file that does not exist.
    ///
    /// The file appears whole or not at all, and only its owner can read it.
    ///
    /// - Throws: ``HARError``, with ``HARError/Problem/fileExists`` if the file exists; a recording is never replaced.
    public func write(to path: String) throws(HARError) {
        do throws(FileError) {
            var writer = try FileWriter(replacing: path)
            try Array(json).withUnsafeBufferPointer { bytes throws(FileError) in
                try writer.write(UnsafeRawBufferPointer(bytes))
            }
            try writer.finishCreating()
        } catch .exists, .notRegular {
            throw HARError(.fileExists, "\(ErrorText.quoted(path)) exists; remove it, or write to another file")
        } catch {
            throw HARError(.inaccessible, "\(ErrorText.quoted(path)) cannot be written: \(error)")
        }
    }
}

extension HARArchive.Entry {
    fileprivate var json: JSONValue {
        let query =
            (url.splitBytes(at: "#", maxSplits: 1).first ?? "")
            .splitBytes(at: "?", maxSplits: 1).dropFirst().first ?? ""
        // The format requires a text.
        let version = JSONValue.string(httpVersion ?? "unknown")
        var request: [String: JSONValue] = [
            "method": .string(method.rawValue), "url": .string(url), "httpVersion": version, "cookies": [],
            "headers": Self.json(requestHeader), "headersSize": -1,
            "queryString": .array(
                query.splitBytes(at: "&").map { item in
                    let parts = item.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    return Self.pair(
                        PercentEncoding.decode(parts[0]), parts.count > 1 ? PercentEncoding.decode(parts[1]) : "")
                }),
            // The size of a body that was not recorded is -1 if it is unknown.
            "bodySize": .integer(requestBody.map { $0.data == nil && $0.size == 0 ? -1 : $0.size } ?? 0),
        ]
        if let requestBody {
            var body: [String: JSONValue] = ["mimeType": .string(requestBody.mediaType), "params": []]
            // The format has no encoding of request bodies; other bytes are omitted.
            let text = requestBody.data.flatMap { String(validating: $0, as: UTF8.self) }
            body["text"] = .string(text ?? "")
            if text == nil { body["comment"] = "the body is not text, or was not recorded" }
            request["postData"] = .object(body)
        }
        var content: [String: JSONValue] = [
            "size": .integer(responseBody.size), "mimeType": .string(responseBody.mediaType),
        ]
        if responseBody.data == nil { content["comment"] = "the body was not recorded" }
        if let data = responseBody.data, !data.isEmpty {
            if let text = String(validating: data, as: UTF8.self) {
                content["text"] = .string(text)
            } else {
                content["text"] = .string(data.base64EncodedString())
                content["encoding"] = "base64"
            }
        }
        let response: [String: JSONValue] = [
            "status": .integer(status?.code ?? 0), "statusText": .string(status?.reasonPhrase ?? ""),
            "httpVersion": version, "cookies": [], "headers": Self.json(responseHeader),
            "content": .object(content), "redirectURL": .string(responseHeader[.location] ?? ""), "headersSize": -1,
            // The size before decoding is not recorded.
            "bodySize": .integer(
                status == nil || responseHeader.contains(.contentEncoding) ? -1 : responseBody.size),
        ]
        var entry: [String: JSONValue] = [
            "startedDateTime": .string(Self.iso8601(startedAt)), "time": .number(timings.total.milliseconds),
            "request": .object(request), "response": .object(response), "cache": [:], "timings": timings.json,
        ]
        entry["comment"] = comment.map { .string($0) }
        return .object(entry)
    }

    private static func json(_ header: Header) -> JSONValue {
        .array(header.map { pair($0.name.rawValue, $0.value) })
    }

    private static func pair(_ name: String, _ value: String) -> JSONValue {
        ["name": .string(name), "value": .string(value)]
    }

    /// Returns the date with milliseconds in GMT.
    static func iso8601(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension HARArchive.Timings {
    fileprivate var json: JSONValue {
        let optional = { (duration: Duration?) -> JSONValue in duration.map { .number($0.counted.milliseconds) } ?? -1 }
        return [
            "blocked": optional(blocked), "dns": optional(lookup), "connect": optional(connect), "ssl": optional(tls),
            "send": .number(send.counted.milliseconds), "wait": .number(wait.counted.milliseconds),
            "receive": .number(receive.counted.milliseconds),
        ]
    }
}
