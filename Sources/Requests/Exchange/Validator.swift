/// What makes a response acceptable, judged before its body is decoded.
public struct Validator: Sendable {
    /// Judges `head`, whose body is collected or still to come; throws what is wrong.
    private let judge: @Sendable (ResponseHead, _ accepting: [MediaType], _ isEmpty: Bool) throws -> Void

    private init(_ judge: @escaping @Sendable (ResponseHead, [MediaType], Bool) throws -> Void) {
        self.judge = judge
    }

    /// A validator that accepts a response when `accept` gives true.
    ///
    /// False is ``RequestError/Reason/unacceptableStatus``; an error is handed on as
    /// ``RequestError/underlying``.
    public init(accepting accept: @escaping @Sendable (ResponseHead) throws -> Bool) {
        self.init { head, _, _ in
            guard try accept(head) else { throw RequestError(.unacceptableStatus, response: head) }
        }
    }

    /// A 2xx status, then a content type that the decoder reads; a missing content type is accepted.
    ///
    /// When both are wrong the status is the error, with the content type's as its ``RequestError/underlying``.
    public static var standard: Validator {
        Validator { head, accepting, isEmpty in
            try check(head, isWithin: 200..<300, contentType: contentTypeError(head, accepting, isEmpty))
        }
    }

    /// Accepts every response.
    public static var none: Validator { Validator { _, _, _ in } }

    /// Accepts the statuses of `range`, whatever the content type.
    public static func statuses(_ range: Range<Int>) -> Validator {
        Validator { head, _, _ in try check(head, isWithin: range, contentType: nil) }
    }

    /// Accepts the statuses of `range`, then a content type that the decoder reads; a missing one is refused unless the
    /// body is empty.
    public static func strict(_ range: Range<Int> = 200..<300) -> Validator {
        Validator { head, accepting, isEmpty in
            let isMissing = !isEmpty && !accepting.isEmpty && head.header[.contentType] == nil
            let problem =
                isMissing
                ? RequestError(.unexpectedContentType, response: head) : contentTypeError(head, accepting, isEmpty)
            try check(head, isWithin: range, contentType: problem)
        }
    }

    /// Judges a response.
    ///
    /// - Throws: ``RequestError`` with the reason and the response; an error of a custom validator comes as its
    ///   ``RequestError/underlying``.
    package func validate(_ head: ResponseHead, accepting: [MediaType], isEmpty: Bool) throws(RequestError) {
        do {
            try judge(head, accepting, isEmpty)
        } catch let error as RequestError {
            throw error
        } catch {
            throw RequestError(.unacceptableStatus, underlying: error, response: head)
        }
    }

    /// Refuses a status outside `range`, with what is wrong with the content type underneath; else the content type.
    private static func check(
        _ head: ResponseHead, isWithin range: Range<Int>, contentType problem: RequestError?
    ) throws(RequestError) {
        if range.contains(head.status.code) {
            if let problem { throw problem }
            return
        }
        let reason: RequestError.Reason = head.status.isRedirection ? .unexpectedRedirect : .unacceptableStatus
        throw RequestError(reason, underlying: problem, response: head)
    }

    private static func contentTypeError(
        _ head: ResponseHead, _ accepting: [MediaType], _ isEmpty: Bool
    ) -> RequestError? {
        guard !accepting.isEmpty, !isEmpty, !head.status.forbidsBody else { return nil }
        let isNamed = head.header.withOnlyValue(of: .contentType) { value in
            accepting.contains { $0.isName(of: value) }
        }
        if isNamed == true { return nil }
        guard let value = head.header[.contentType], !value.isEmpty else { return nil }
        let type = MediaType(value)
        if let type, accepting.contains(where: { $0.reads(type) }) { return nil }
        // What was received is quoted only where it is a media type.
        let found = type.map(name) ?? "no media type"
        let wanted = accepting.map(name).joined(separator: " or ")
        return RequestError(.unexpectedContentType, detail: "\(found), not \(wanted)", response: head)
    }

    private static func name(_ type: MediaType) -> String {
        MediaType(type: type.type, subtype: type.subtype).rawValue
    }
}
