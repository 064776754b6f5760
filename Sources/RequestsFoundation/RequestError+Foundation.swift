extension RequestError: LocalizedError {
    /// One line with method, URL, status and reason, without secrets.
    public var errorDescription: String? { description }

    /// The reason in a few words.
    public var failureReason: String? { "\(reason)" }
}

extension RequestError: CustomNSError {
    /// The error domain, `Requests.RequestError`.
    public static var errorDomain: String { "Requests.RequestError" }

    /// The number of the reason, which stays the same in every release.
    public var errorCode: Int {
        switch reason {
        case .unacceptableStatus: 1
        case .credentialsUnavailable: 2
        case .unexpectedContentType: 3
        case .unexpectedNoContent: 4
        case .unexpectedRedirect: 5
        case .invalidRequest: 10
        case .bodyEncodingFailed: 11
        case .bodyNotReplayable: 12
        case .unsupportedScheme: 13
        case .fileAccessFailed: 14
        case .executorClosed: 15
        case .hostNotFound: 20
        case .connectionFailed: 21
        case .connectionLost: 22
        case .protocolViolation: 23
        case .tooLarge: 24
        case .timedOut: 25
        case .tlsUnavailable: 26
        case .certificateRefused: 27
        case .tlsFailed: 28
        case .proxyRefused: 29
        case .decodingFailed: 30
        case .notModified: 31
        case .cancelled: 40
        case .other: 99
        @unknown default: 99
        }
    }

    /// The details of the error under the keys of ``UserInfoKey``, without the secrets of the exchange.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        let redaction = redaction
        if let request { info[UserInfoKey.url] = redaction.url(request.target) }
        if let response { add(response, redaction, to: &info) }
        if let body, !redaction.hidesBodies {
            // An `NSError` prints its details.
            let body = Data(redaction.body(Array(body), response?.header ?? .empty))
            info[UserInfoKey.body] = body
            if let json = Self.jsonObject(of: body) { info[UserInfoKey.json] = json }
        }
        return info
    }

    private func add(_ response: ResponseHead, _ redaction: ExchangeRedaction, to info: inout [String: Any]) {
        info[UserInfoKey.statusCode] = response.status.code
        info[UserInfoKey.contentType] = response.header[.contentType].map(redaction.text)
        if let location = response.header[.location] {
            info[UserInfoKey.location] = (try? response.target.resolving(location)).map(redaction.url)
        }
        // Location may contain secrets; the value above does not.
        let shown = response.header.filter { !redaction.isSecret($0.name) && $0.name != .location }
        if let url = URL(string: redaction.url(response.target)) {
            info[UserInfoKey.response] = HTTPURLResponse(
                url: url, statusCode: response.status.code, httpVersion: nil,
                headerFields: Header(shown.map { Field(name: $0.name, value: redaction.value(of: $0)) }).dictionaryValue
            )
        }
    }

    /// Returns the top-level object of a JSON body, without members that are null.
    private static func jsonObject(of body: Data) -> [String: Any]? {
        guard let object = try? JSONSerialization.jsonObject(with: body) as? [String: Any] else { return nil }
        return withoutNulls(object)
    }

    private static func withoutNulls(_ object: [String: Any]) -> [String: Any] {
        object.compactMapValues { value in
            if value is NSNull { return nil }
            return (value as? [String: Any]).map(withoutNulls) ?? value
        }
    }
}

extension RequestError {
    /// The keys of the details in the `userInfo` of an `NSError`.
    public enum UserInfoKey {
        /// The status code of the response, an `Int`.
        public static let statusCode = "statusCode"
        /// The response, an `HTTPURLResponse` without the fields and query values that are secrets.
        public static let response = "response"
        /// The received part of the body, `Data`.
        public static let body = "body"
        /// The body's top-level JSON object, a dictionary without nulls.
        public static let json = "json"
        /// The Content-Type of the response, a `String`.
        public static let contentType = "contentType"
        /// The resolved target of a redirect, a `String` without the query values that are secrets.
        public static let location = "location"
        /// The URL of the request, a `String` without the query values that are secrets.
        public static let url = "url"
    }
}

extension Error {
    /// The status code of the response, in an error of this library or in its `NSError`; nil if there is no response.
    public var httpStatusCode: Int? {
        if let error = self as? RequestError { return error.status?.code }
        let error = self as NSError
        guard error.domain == RequestError.errorDomain else { return nil }
        return error.userInfo[RequestError.UserInfoKey.statusCode] as? Int
    }
}
