extension URLRequest {
    /// `prepared` as Foundation's type.
    ///
    /// - `timeoutInterval` is the longer of the limits for the first byte and between bytes, because Foundation has one
    ///   for both; where there is none it is a week. The limits for connecting and for the whole have no counterpart.
    /// - Repeated fields are joined as `Header.dictionaryValue` does. `allHTTPHeaderFields` is never nil.
    /// - Bytes become `httpBody`, a file and an input stream `httpBodyStream`. The range of a file is read into memory.
    /// - Foundation writes `get`, `head`, `post`, `put`, `delete` and `connect` in capitals, however they are spelled.
    ///
    /// - Throws: `RequestError`: what makes the request invalid, or `bodyNotEncoded` for a body that is produced
    ///   asynchronously, which no `InputStream` can be made of.
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

    /// Sets what `options` says; what it leaves open stays Foundation's.
    private mutating func apply(_ options: RequestOptions) {
        if let value = options.allowsCellularAccess { allowsCellularAccess = value }
        if let value = options.handlesCookies { httpShouldHandleCookies = value }
        switch options.serviceType {
        case .background?: networkServiceType = .background
        case .video?: networkServiceType = .video
        case .voice?: networkServiceType = .voice
        // Foundation on Linux has no word for data that somebody waits for.
        case .standard?, .responsiveData?: networkServiceType = .default
        case nil: break
        }
    }
}

extension PreparedRequest {
    /// Foundation's request as a value of this library, with the defaults of all that Foundation does not know.
    ///
    /// The fields come in the order of their names, because Foundation keeps none; those that belong to the executor
    /// are left out. A body stream can be sent once.
    ///
    /// - Throws: `RequestError` with `invalidRequest` when the request has no URL, or one that cannot be asked.
    public init(_ request: URLRequest) throws(RequestError) {
        guard let url = request.url else { throw RequestError(.invalidRequest(.malformedURL), detail: "no URL") }
        let fields = (request.allHTTPHeaderFields ?? [:]).map { Field(name: Field.Name($0.key), value: $0.value) }
        let header = Header(
            fields.filter { !$0.name.belongsToExecutor }.sorted { $0.name.canonicalName < $1.name.canonicalName })
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
        cachePolicy = RequestCachePolicy(request.cachePolicy)
    }
}

extension Timeouts {
    /// What stands for “no limit” where Foundation wants a number: a week in seconds, its own limit for a whole transfer.
    static let longest: TimeInterval = 7 * 24 * 60 * 60

    /// The one limit that Foundation has for the first byte and between bytes, in seconds.
    ///
    /// A limit that has passed at once becomes a millisecond, because Foundation reads zero as no limit.
    fileprivate var timeoutInterval: TimeInterval {
        guard let firstByte, let betweenBytes else { return Self.longest }
        return Swift.min(Swift.max(max(firstByte, betweenBytes) / .seconds(1), 0.001), Self.longest)
    }
}
