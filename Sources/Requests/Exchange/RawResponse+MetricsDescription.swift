extension RawResponse.Metrics: CustomStringConvertible, CustomReflectable {
    /// The known measurements on one line, such as `1 transmission, reused connection, head after 1.2 ms`.
    public var description: String {
        var parts = [transmissions == 1 ? "1 transmission" : "\(transmissions) transmissions"]
        if isReusedConnection { parts.append("reused connection") }
        if let httpVersion, httpVersion != .http11 { parts.append(httpVersion.rawValue) }
        if isRequestBodyIncomplete { parts.append("request body incomplete") }
        let times = [
            ("lookup", timeToLookup), ("connected", timeToConnect), ("TLS", timeToTLS),
            ("request sent", timeToRequestSent), ("first byte", timeToFirstByte), ("head", timeToResponseHead),
            ("end", timeToEnd),
        ]
        for case (let stage, let time?) in times { parts.append("\(stage) after \(ErrorText.milliseconds(time))") }
        if let tls { parts.append("TLS: \(tls)") }
        if let encodedBodyLength { parts.append("\(ErrorText.bytes(encodedBodyLength)) before content decoding") }
        if let contentEncoding {
            parts.append("content coding \(ErrorText.quoted(contentEncoding, limit: ErrorText.peerTextLimit))")
        }
        if let cacheStatus { parts.append("cache: \(cacheStatus)") }
        if let restartReason { parts.append("download started over: \(restartReason)") }
        // Five, because the number of retries has no limit of its own.
        for (index, retry) in retries.enumerated() where index < 5 { parts.append("attempt \(index + 1): \(retry)") }
        if let retryRefusal { parts.append("not repeated: \(retryRefusal)") }
        return RequestError.singleLine(parts.joined(separator: ", "))
    }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["metrics": description]) }
}
