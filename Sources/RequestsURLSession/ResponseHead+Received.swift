extension ResponseHead {
    /// Creates the head from a response of URLSession, with fields that describe the body as it is delivered.
    ///
    /// libcurl accepts lengths that two readers could interpret differently; they are rejected here (RFC 9112 §6.3). If
    /// the session decoded a content coding, Content-Encoding and Content-Length are removed and recorded in `metrics`.
    ///
    /// - Throws: `RequestError` with `protocolViolation`.
    init(
        received response: HTTPURLResponse, to request: PreparedRequest, noting metrics: inout RawResponse.Metrics
    ) throws(RequestError) {
        do throws(RequestError) {
            try self.init(response)
        } catch {
            throw RequestError(.protocolViolation, detail: "the response has no valid URL", underlying: error)
        }
        target = request.target
        let length = try header.declaredLength()
        guard length == nil || !header.contains(.transferEncoding) else {
            throw RequestError(
                .protocolViolation, detail: "Transfer-Encoding and Content-Length are both present (RFC 9112 §6.3)")
        }
        guard let coding = header[.contentEncoding], Platform.isDecoded(coding), request.method != .head,
            !status.forbidsBody
        else { return }
        metrics.contentEncoding = coding
        metrics.encodedBodyLength = length
        header.removeAll { $0.name == .contentEncoding || $0.name == .contentLength }
    }

    /// Returns the number of bytes in the body of a response to `method`, if the header determines it.
    func bodyLength(for method: HTTPMethod) -> Int? {
        if method == .head || status.forbidsBody { return 0 }
        return (try? header.declaredLength()) ?? nil
    }
}

extension Header {
    /// Returns the value of Content-Length.
    ///
    /// Repetitions of one value count as one; anything else is an error (RFC 9110 §8.6).
    fileprivate func declaredLength() throws(RequestError) -> Int? {
        let values = values(of: .contentLength).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).map { member in
                String(Substring(member.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }))
            }
        }
        guard let first = values.first else { return nil }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard values.allSatisfy({ $0 == first }), first.utf8.allSatisfy(digits.contains), let length = Int(first) else {
            let text = ErrorText.quoted(values.joined(separator: ", "), limit: ErrorText.peerTextLimit)
            throw RequestError(.protocolViolation, detail: "invalid Content-Length \(text) (RFC 9110 §8.6)")
        }
        return length
    }
}
