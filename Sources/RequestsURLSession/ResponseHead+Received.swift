extension ResponseHead {
    /// The head that URLSession tells of, checked and cleaned: it describes the body as it is delivered.
    ///
    /// libcurl takes lengths that two readers could read differently; they are refused here (RFC 9112 §6.3). Where a
    /// content coding was undone, Content-Encoding and Content-Length go, and `metrics` have them.
    ///
    /// - Throws: `RequestError` with `protocolViolation`.
    init(
        received response: HTTPURLResponse, to request: PreparedRequest, noting metrics: inout RawResponse.Metrics
    ) throws(RequestError) {
        do throws(RequestError) {
            try self.init(response)
        } catch {
            throw RequestError(.protocolViolation, detail: "a response without a URL", underlying: error)
        }
        target = request.target
        let length = try header.declaredLength()
        guard length == nil || !header.contains(.transferEncoding) else {
            throw RequestError(.protocolViolation, detail: "both Content-Length and Transfer-Encoding")
        }
        guard let coding = header[.contentEncoding], Platform.isUndone(coding), request.method != .head,
            !status.forbidsBody
        else { return }
        metrics.contentEncoding = coding
        metrics.encodedBodyLength = length
        header.removeAll { $0.name == .contentEncoding || $0.name == .contentLength }
    }

    /// The number of bytes the body will have, when the header tells.
    func bodyLength(answering method: HTTPMethod) -> Int? {
        if method == .head || status.forbidsBody { return 0 }
        return (try? header.declaredLength()) ?? nil
    }
}

extension Header {
    /// What Content-Length says; repetitions of one value are one, anything else is refused (RFC 9110 §8.6).
    fileprivate func declaredLength() throws(RequestError) -> Int? {
        let values = values(of: .contentLength).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).map { member in
                String(Substring(member.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }))
            }
        }
        guard let first = values.first else { return nil }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard values.allSatisfy({ $0 == first }), first.utf8.allSatisfy(digits.contains), let length = Int(first) else {
            throw RequestError(.protocolViolation, detail: "Content-Length: \(values.joined(separator: ", "))")
        }
        return length
    }
}
