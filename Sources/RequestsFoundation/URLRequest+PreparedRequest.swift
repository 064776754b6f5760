extension URLRequest {
    /// Creates Foundation's request with the contents of `prepared`.
    ///
    /// - `timeoutInterval` is the longer of the limits for the first byte and between bytes, because Foundation has one
    ///   limit for both. If either is missing, it is one week. The limits for connecting and for the whole call have no
    ///   equivalent.
    /// - Repeated fields are joined as in `Header.dictionaryValue`. `allHTTPHeaderFields` is never nil.
    /// - Bytes become `httpBody`; a file or an input stream becomes `httpBodyStream`. The range of a file is read into
    ///   memory.
    /// - Foundation writes `get`, `head`, `post`, `put`, `delete` and `connect` in capitals, however they are spelled.
    ///
    /// - Throws: `RequestError` with the reason why the request is invalid, or `bodyEncodingFailed` for a body that is
    ///   produced asynchronously, which an `InputStream` cannot read.
    public init(_ prepared: PreparedRequest) throws(RequestError) {
        try prepared.validate()
        self.init(
            url: prepared.url, cachePolicy: CachePolicy(prepared.cachePolicy),
            timeoutInterval: prepared.timeouts.timeoutInterval)
        httpMethod = prepared.method.rawValue
        allHTTPHeaderFields = prepared.header.dictionaryValue
        switch prepared.body {
        case .none: break
        case .bytes(let data): httpBody = data
        case .file, .stream: httpBodyStream = try InputStream.reading(prepared.body)
        }
        apply(prepared.options)
    }

    /// Applies `options`; an option that is nil keeps Foundation's default.
    private mutating func apply(_ options: RequestOptions) {
        if let value = options.allowsCellularAccess { allowsCellularAccess = value }
        if let value = options.handlesCookies { httpShouldHandleCookies = value }
        switch options.serviceType {
        case .background?: networkServiceType = .background
        case .video?: networkServiceType = .video
        case .voice?: networkServiceType = .voice
        // Foundation on Linux has no value for responsive data.
        case .standard?, .responsiveData?: networkServiceType = .default
        case nil: break
        }
    }
}

extension PreparedRequest {
    /// Creates a request from Foundation's, with defaults for everything that Foundation does not represent.
    ///
    /// The fields are sorted by name, because Foundation keeps no order; fields that belong to the executor are
    /// omitted. A body stream can be sent once.
    ///
    /// - Throws: `RequestError` with `invalidRequest` if the request has no URL, or one that cannot be requested.
    public init(_ request: URLRequest) throws(RequestError) {
        guard let url = request.url else {
            throw RequestError(.invalidRequest(.malformedURL), detail: "the request has no URL")
        }
        let fields = (request.allHTTPHeaderFields ?? [:]).map { Field(name: Field.Name($0.key), value: $0.value) }
        let header = Header(
            fields.filter { !$0.belongsToExecutor }.sorted { $0.name.canonicalName < $1.name.canonicalName })
        let body: RequestBody =
            if let data = request.httpBody {
                .bytes(data)
            } else if let stream = request.httpBodyStream {
                .stream(stream)
            } else {
                .none
            }
        try self.init(method: HTTPMethod(request.httpMethod ?? "GET"), url: url, header: header, body: body)
        let limit: Duration? = request.timeoutInterval < Timeouts.longest ? .seconds(request.timeoutInterval) : nil
        timeouts.firstByte = limit
        timeouts.betweenBytes = limit
        cachePolicy = PreparedRequest.CachePolicy(request.cachePolicy)
    }
}

extension Timeouts {
    /// The value for “no limit” where Foundation requires a number: a week in seconds, its limit for a
    /// whole transfer.
    static let longest: TimeInterval = 7 * 24 * 60 * 60

    /// The value of Foundation's only limit for the first byte and between bytes, in seconds.
    ///
    /// A limit of zero becomes a millisecond, because Foundation interprets zero as no limit.
    fileprivate var timeoutInterval: TimeInterval {
        guard let firstByte, let betweenBytes else { return Self.longest }
        return Swift.min(Swift.max(max(firstByte, betweenBytes) / .seconds(1), 0.001), Self.longest)
    }
}
