extension ResponseDecoder {
    /// A decoder of the whole body that is given Foundation's response, as in Requests 0.3.2.
    ///
    /// Disfavoured, so that a closure that does not name its types is given a `ResponseHead` at no cost.
    ///
    /// - Parameter decode: Makes the response. What it throws becomes `RequestError.Reason.notDecoded`.
    @_disfavoredOverload
    public init(_ decode: @escaping @Sendable (HTTPURLResponse, Data) throws -> Response) {
        self.init { (head: ResponseHead, data: Data) in
            guard let response = HTTPURLResponse(head) else {
                throw RequestError(.notDecoded, detail: "Foundation refuses the response")
            }
            return try decode(response, data)
        }
    }
}

extension ResponseDecoder where Response == String {
    /// The body as text in `encoding`.
    ///
    /// A body that is not text in that encoding fails with `RequestError.Reason.notDecoded`, underneath it
    /// `CocoaError.fileReadInapplicableStringEncoding` with the encoding's raw value for `NSStringEncodingErrorKey`. A
    /// response that cannot have a body (204, 304) is `RequestError.Reason.unexpectedNoContent`.
    public static func text(encoding: String.Encoding) -> ResponseDecoder {
        ResponseDecoder { (head: ResponseHead, data: Data) in
            if head.status.forbidsBody { throw RequestError(.unexpectedNoContent) }
            guard let text = String(data: data, encoding: encoding) else {
                throw CocoaError(
                    .fileReadInapplicableStringEncoding, userInfo: [NSStringEncodingErrorKey: encoding.rawValue])
            }
            return text
        }
    }
}
