extension ResponseDecoder {
    /// Creates a decoder of the whole body that receives Foundation's response, as in Requests 0.3.2.
    ///
    /// The overload is disfavored, so that a closure that does not name its types receives a `ResponseHead`, which
    /// costs nothing.
    ///
    /// - Parameter decode: The function that makes the value. An error that it throws becomes
    ///   `RequestError.Reason.decodingFailed`.
    @_disfavoredOverload
    public init(_ decode: @escaping @Sendable (HTTPURLResponse, Data) throws -> Response) {
        self.init { (head: ResponseHead, data: Data) in
            guard let response = HTTPURLResponse(head) else {
                throw RequestError(.decodingFailed, detail: "could not make an HTTPURLResponse")
            }
            return try decode(response, data)
        }
    }
}

extension ResponseDecoder where Response == String {
    /// Returns a decoder of the body as text in `encoding`.
    ///
    /// A body that is not text in that encoding fails with `RequestError.Reason.decodingFailed`, whose underlying error
    /// is `CocoaError.fileReadInapplicableStringEncoding` with the encoding's raw value under
    /// `NSStringEncodingErrorKey`. A response that cannot have a body (204, 304) fails with
    /// `RequestError.Reason.unexpectedNoContent`.
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
