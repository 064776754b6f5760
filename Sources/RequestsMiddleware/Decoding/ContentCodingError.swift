/// The reason why a body could not be decoded; the ``/Requests/RequestError/underlying`` of such an error.
public struct ContentCodingError: Error, Hashable, Sendable {
    /// The kind of problem.
    @nonexhaustive
    public enum Problem: Hashable, Sendable {
        /// The coding is unknown, or the system lacks its library.
        case unknown
        /// The body has more codings, one applied to another, than the limit.
        case tooMany(limit: Int)
        /// The bytes are not valid data of the coding, or more bytes follow its end.
        ///
        /// The value is the decoder's description.
        case damaged(String)
        /// The body ended before the end of the coding.
        case truncated
    }

    /// The coding, as the server named it.
    public let coding: String

    /// The problem that was found.
    public let problem: Problem

    /// The number of encoded bytes that had been read when the problem was found.
    public let offset: Int

    package init(coding: String, problem: Problem, offset: Int) {
        self.coding = coding
        self.problem = problem
        self.offset = offset
    }
}

extension ContentCodingError: CustomStringConvertible {
    /// One line with the problem, the coding and the position.
    public var description: String {
        switch problem {
        case .unknown: "unsupported content coding \(ErrorText.quoted(coding))"
        case .tooMany(let limit): "more than \(limit) content codings: \(ErrorText.quoted(coding))"
        case .damaged(let problem): "invalid \(coding) data at byte \(offset): \(problem)"
        case .truncated: "\(coding) data is truncated after \(ErrorText.bytes(offset))"
        }
    }
}

extension RequestError {
    /// Creates the error of a body that is not valid data of its declared codings.
    init(_ error: ContentCodingError) {
        self.init(.protocolViolation, detail: error.description, underlying: error)
    }
}
