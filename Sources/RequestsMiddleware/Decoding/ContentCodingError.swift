/// Why a body's content codings could not be undone: what ``RequestError/underlying`` is then.
public struct ContentCodingError: Error, Hashable, Sendable {
    /// What was wrong.
    public enum Problem: Hashable, Sendable {
        /// The coding is not known here, or the system lacks the library for it.
        case unknown
        /// There are more codings, one around the other, than the limit.
        case tooMany(limit: Int)
        /// The bytes are none of the coding, or more follow its end; what it is, in the words of who noticed.
        case damaged(String)
        /// The body ended before its coding did.
        case endsEarly
    }

    /// The coding, as the server named it.
    public let coding: String

    /// What was wrong.
    public let problem: Problem

    /// How many bytes had been read of what the coding was applied to when it was noticed.
    public let offset: Int
}

extension ContentCodingError: CustomStringConvertible {
    /// The coding, what was wrong and where.
    public var description: String {
        switch problem {
        case .unknown: "the content coding “\(coding)” cannot be undone here"
        case .tooMany(let limit): "more than \(limit) content codings: \(coding)"
        case .damaged(let what): "the content coding \(coding) is damaged at byte \(offset): \(what)"
        case .endsEarly: "the content coding \(coding) ends early, after \(offset) bytes"
        }
    }
}

extension RequestError {
    /// A body that is not of the codings it says it is.
    init(_ error: ContentCodingError) {
        self.init(.protocolViolation, detail: error.description, underlying: error)
    }
}
