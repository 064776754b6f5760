extension Request {
    /// This request, declaring what the body of a refusal is: ``RequestError/payload(as:)`` gives it back.
    ///
    /// ```swift
    /// request.failing(as: GitHubProblem.self)
    /// // later
    /// catch { if let problem = error.payload(as: GitHubProblem.self) { … } }
    /// ```
    ///
    /// Said in ``RequestProviding/request(to:using:)-(RequestPath,_)``, it holds for a whole API.
    public consuming func failing<Payload: Decodable & Sendable>(
        as type: Payload.Type, using makeDecoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
    ) -> Self {
        failing { _, data in try makeDecoder().value(Payload.self, from: data) }
    }

    /// This request, declaring what the body of a refusal is by the function that reads it.
    public consuming func failing<Payload: Sendable>(
        with decode: @escaping @Sendable (ResponseHead, Data) throws -> Payload
    ) -> Self {
        attributes[ErrorPayloadDecoding.self] = decode
        return self
    }

    /// This request, the bodies of whose refusals are taken for JSON whatever their content type.
    public consuming func assumingErrorsAreJSON() -> Self {
        attributes[AssumesJSONErrors.self] = true
        return self
    }
}

private enum ErrorPayloadDecoding: RequestAttributeKey {
    typealias Value = @Sendable (ResponseHead, Data) throws -> any Sendable
}

private enum AssumesJSONErrors: RequestAttributeKey {
    typealias Value = Bool
}

extension RequestError {
    /// The URL of the response, or of the request when none had arrived.
    public var url: URL? { response?.url ?? request?.url }

    /// The body as UTF-8 text, ill-formed bytes as U+FFFD; nil when none had arrived.
    public var bodyText: String? { body.map { String(decoding: $0, as: UTF8.self) } }

    /// The body as JSON, when its content type says that it is JSON; nil when it is none.
    ///
    /// With ``Request/assumingErrorsAreJSON()`` the content type is not asked.
    public var bodyJSON: JSONValue? {
        guard let body, isJSON else { return nil }
        return try? JSONValue(parsing: body)
    }

    /// What the body of the refusal says, as the request has declared with ``Request/failing(as:using:)``.
    ///
    /// Without a declaration of that type it is decoded from JSON, if it is JSON. Nil when there is no body, or none
    /// that can be read so.
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

    /// The problem that the body describes (RFC 9457); nil when its content type is not `application/problem+json`.
    public var problem: ProblemDetails? {
        guard response?.contentType == ProblemDetails.mediaType else { return nil }
        return body.flatMap { try? JSONValue(parsing: $0) }.flatMap(ProblemDetails.init)
    }

    /// The code and the message that the JSON body has under their usual names; nil when it has neither.
    public var message: ErrorMessage? { bodyJSON.flatMap(ErrorMessage.init) }

    /// Whether the body is JSON that was cut short, so that asking again may help: false for JSON that is wrong.
    public var isJSONCutShort: Bool {
        guard reason == .notDecoded, underlying is DecodingError || underlying is JSONSyntaxError, let body else {
            return false
        }
        return JSONSyntaxError.check(body)?.problem == .endsEarly
    }

    private var isJSON: Bool {
        if request?.attributes[AssumesJSONErrors.self] == true { return true }
        return response?.contentType.map { MediaType.json.reads($0) && $0.subtype != "javascript" } ?? false
    }
}

/// What many APIs say about a refusal: a code and a message.
///
/// `code` or `error_code`, `message` or `error_message`, at the top level or in an object called `error`, whose values
/// win. Numbers are given as text.
public struct ErrorMessage: Hashable, Sendable {
    /// The code; nil when there is none.
    public var code: String?

    /// The message; nil when there is none.
    public var message: String?

    /// What `json` says; nil when it has neither a code nor a message.
    public init?(_ json: JSONValue) {
        func text(_ names: [JSONValue.Step]) -> String? {
            let nested = names.lazy.compactMap { json["error", $0]?.text }.first
            return nested ?? names.lazy.compactMap { json[$0]?.text }.first
        }
        code = text(["code", "error_code"])
        message = text(["message", "error_message"])
        if code == nil, message == nil { return nil }
    }
}

/// A problem as `application/problem+json` describes it (RFC 9457).
public struct ProblemDetails: Error, Hashable, Sendable {
    /// The kind of problem: a URI reference; `about:blank` when there is none (RFC 9457 §3.1.1).
    public var type: String
    /// What kind of problem it is, in short.
    public var title: String?
    /// The status that the server meant to send.
    public var status: Int?
    /// What happened this time.
    public var detail: String?
    /// This occurrence of the problem: a URI reference.
    public var instance: String?
    /// All other members.
    public var extensions: [String: JSONValue]

    /// `application/problem+json`.
    public static let mediaType = MediaType(type: .application, subtype: "problem+json")

    /// The problem that `json` describes; nil when it is no object.
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
    /// Reads a problem; members of the wrong type are ignored.
    ///
    /// - Throws: `DecodingError` when there is no object.
    public init(from decoder: any Decoder) throws {
        guard let problem = ProblemDetails(try JSONValue(from: decoder)) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no object"))
        }
        self = problem
    }
}
