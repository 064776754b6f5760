/// The key for the function that decodes the error bodies of a request.
enum ErrorPayloadDecoding: RequestAttributes.Key {
    typealias Value = @Sendable (ResponseHead, Data) throws -> any Sendable
}

/// The key for the flag that error bodies are JSON, whatever their content type.
enum AssumesJSONErrors: RequestAttributes.Key {
    typealias Value = Bool
}

extension RequestError {
    /// The URL of the response, or of the request if no response was received.
    public var url: URL? { response?.url ?? request?.url }

    /// The body as UTF-8 text, with ill-formed bytes as U+FFFD; nil if no body was received.
    public var bodyText: String? { body.map { String(decoding: $0, as: UTF8.self) } }

    /// The body as JSON; nil if its content type is not JSON, or the body is not valid JSON.
    ///
    /// With ``Request/assumingErrorsAreJSON()``, the content type is not checked.
    public var bodyJSON: JSONValue? {
        guard let body, isJSON else { return nil }
        return try? JSONValue(parsing: body)
    }

    /// Returns the error body, decoded as the request declared with ``Request/decodingErrorPayload(as:using:)``.
    ///
    /// Without a declaration of that type, a JSON body is decoded with `JSONDecoder`. The result is nil if there is no
    /// body, or if it cannot be decoded.
    public func payload<Payload>(as type: Payload.Type = Payload.self) -> Payload? {
        guard let body, let response else { return nil }
        if let decode = request?.attributes[ErrorPayloadDecoding.self],
            let payload = (try? decode(response, body)) as? Payload
        {
            return payload
        }
        guard isJSON, let type = Payload.self as? any Decodable.Type else { return nil }
        return (try? JSONDecoder().value(type, from: body)) as? Payload
    }

    /// The problem that the body describes (RFC 9457); nil if its content type is not `application/problem+json`.
    public var problemDetails: ProblemDetails? {
        guard response?.contentType == ProblemDetails.mediaType else { return nil }
        return body.flatMap { try? JSONValue(parsing: $0) }.flatMap(ProblemDetails.init)
    }

    /// The server's code and message from a JSON body, or the text of a `text/plain` body; nil if there is neither.
    public var message: RequestError.Message? { body.flatMap(message(in:)) }

    /// Returns the code and the message in `body`, the body of this error or a redacted copy of it.
    func message(in body: Data) -> RequestError.Message? {
        if isJSON, let message = (try? JSONValue(parsing: body)).flatMap(Message.init) { return message }
        guard let type = response?.contentType, type == .plainText else { return nil }
        return Message(text: String(decoding: body, as: UTF8.self))
    }

    /// Whether decoding failed because the JSON body is truncated, so that a retry may succeed; false for invalid JSON.
    public var isJSONTruncated: Bool {
        guard reason == .decodingFailed, let body,
            underlying is DecodingError || underlying is JSONValue.SyntaxError
        else {
            return false
        }
        return JSONValue.SyntaxError.check(body)?.problem == .truncated
    }

    private var isJSON: Bool {
        if request?.attributes[AssumesJSONErrors.self] == true { return true }
        // `MediaType.json` also reads JavaScript types, but an error of such a type is not expected to be JSON.
        return response?.contentType.map { MediaType.json.reads($0) && $0.subtype != "javascript" } ?? false
    }
}

/// A problem described by a body of the type `application/problem+json` (RFC 9457).
public struct ProblemDetails: Error, Hashable, Sendable {
    /// The URI reference that identifies the type of problem; `about:blank` if there is none (RFC 9457 §3.1.1).
    public var type: String
    /// A short summary of the problem's type.
    public var title: String?
    /// The status code that the server generated for the problem.
    public var status: Int?
    /// An explanation of this particular problem.
    public var detail: String?
    /// A URI reference that identifies this particular problem.
    public var instance: String?
    /// All other members.
    public var extensions: [String: JSONValue]

    /// The media type `application/problem+json`.
    package static let mediaType = MediaType(type: .application, subtype: "problem+json")

    /// Creates a problem from the members of `json`; nil if that is not an object.
    ///
    /// Members of the wrong type are ignored.
    public init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        type = members["type"]?.string ?? "about:blank"
        title = members["title"]?.string
        status = members["status"]?.int
        detail = members["detail"]?.string
        instance = members["instance"]?.string
        extensions = members.filter { !["type", "title", "status", "detail", "instance"].contains($0.key) }
    }
}

extension ProblemDetails: Decodable {
    /// Decodes a problem; members of the wrong type are ignored.
    ///
    /// - Throws: `DecodingError` if the value is not an object.
    public init(from decoder: any Decoder) throws {
        guard let problem = ProblemDetails(try JSONValue(from: decoder)) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "expected a JSON object"))
        }
        self = problem
    }
}
