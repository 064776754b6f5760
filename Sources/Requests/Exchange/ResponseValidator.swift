/// A check that accepts or rejects a response before its body is decoded.
public struct ResponseValidator: Sendable {
    /// A function that throws an error to reject `head`; the body has been collected or has not been read yet.
    private let check: @Sendable (ResponseHead, _ accepting: [MediaType], _ isEmpty: Bool) throws -> Void

    private init(_ check: @escaping @Sendable (ResponseHead, [MediaType], Bool) throws -> Void) {
        self.check = check
    }

    /// Creates a validator that accepts a response if `accept` returns true.
    ///
    /// If `accept` returns false, the reason is ``RequestError/Reason/unacceptableStatus``. If it throws, its error
    /// becomes the ``RequestError/underlying`` error.
    public init(accepting accept: @escaping @Sendable (ResponseHead) throws -> Bool) {
        self.init { head, _, _ in
            guard try accept(head) else { throw RequestError(.unacceptableStatus, response: head) }
        }
    }

    /// A validator that accepts a 2xx status with a content type that the decoder reads, or with none.
    ///
    /// If both are unacceptable, the status is the reason.
    public static var standard: ResponseValidator {
        ResponseValidator { head, accepting, isEmpty in
            try checkStatus(of: head, isIn: 200..<300)
            if let problem = contentTypeError(head, accepting, isEmpty) { throw problem }
        }
    }

    /// A validator that accepts every response.
    public static var none: ResponseValidator { ResponseValidator { _, _, _ in } }

    /// Returns a validator that accepts the statuses in `range` with any content type.
    public static func statuses(_ range: Range<Int>) -> ResponseValidator {
        ResponseValidator { head, _, _ in try checkStatus(of: head, isIn: range) }
    }

    /// Returns a validator that accepts `statuses` with any content type: `.statuses([200, 404])`.
    public static func statuses(_ statuses: Set<HTTPStatus>) -> ResponseValidator {
        ResponseValidator { head, _, _ in
            guard statuses.contains(head.status) else { throw rejection(of: head) }
        }
    }

    /// Returns a validator that accepts the statuses in `range` with a content type that the decoder reads.
    ///
    /// A missing content type is rejected unless the body is empty.
    public static func strict(_ range: Range<Int> = 200..<300) -> ResponseValidator {
        ResponseValidator { head, accepting, isEmpty in
            try checkStatus(of: head, isIn: range)
            let isMissing = !isEmpty && !accepting.isEmpty && head.header[.contentType] == nil
            let problem = isMissing ? missingType(head, accepting) : contentTypeError(head, accepting, isEmpty)
            if let problem { throw problem }
        }
    }

    /// Validates a response.
    ///
    /// - Throws: ``RequestError`` with the reason and the response; the error of a custom validator is its
    ///   ``RequestError/underlying`` error.
    package func validate(_ head: ResponseHead, accepting: [MediaType], isEmpty: Bool) throws(RequestError) {
        do {
            try check(head, accepting, isEmpty)
        } catch let error as RequestError {
            throw error
        } catch {
            throw RequestError(.unacceptableStatus, underlying: error, response: head)
        }
    }

    /// Throws an error for a status outside `range`.
    private static func checkStatus(of head: ResponseHead, isIn range: Range<Int>) throws(RequestError) {
        guard range.contains(head.status.code) else { throw rejection(of: head) }
    }

    private static func rejection(of head: ResponseHead) -> RequestError {
        RequestError(
            head.status.isRedirection ? .unexpectedRedirect : .unacceptableStatus,
            detail: head.status.isInformational ? informational : nil, response: head)
    }

    private static var informational: String { "an interim (1xx) status cannot be final (RFC 9110 §15.2)" }

    private static func contentTypeError(
        _ head: ResponseHead, _ accepting: [MediaType], _ isEmpty: Bool
    ) -> RequestError? {
        guard !accepting.isEmpty, !isEmpty, !head.status.forbidsBody else { return nil }
        // Nearly every type is one of the names as it is, and then it need not be parsed.
        let isNamed = head.header.withOnlyValue(of: .contentType) { value in
            accepting.contains { $0.isName(of: value) }
        }
        if isNamed == true { return nil }
        guard let value = head.header[.contentType], !value.isEmpty else { return nil }
        let type = MediaType(value)
        if let type, accepting.contains(where: { $0.reads(type) }) { return nil }
        // The value is shown only if it is a media type, because other text of a peer may be anything.
        let found = type.map(name) ?? "an invalid Content-Type"
        return RequestError(
            .unexpectedContentType, detail: "received \(found), expected \(names(of: accepting))", response: head)
    }

    private static func missingType(_ head: ResponseHead, _ accepting: [MediaType]) -> RequestError {
        RequestError(
            .unexpectedContentType, detail: "received no Content-Type, expected \(names(of: accepting))",
            response: head)
    }

    private static func names(of types: [MediaType]) -> String {
        types.map(name).joined(separator: " or ")
    }

    /// Returns the type without its parameters.
    private static func name(_ type: MediaType) -> String {
        MediaType(type: type.type, subtype: type.subtype).rawValue
    }
}
