extension Header {
    /// The directives of Cache-Control; nil when there is no such field, setting nil removes it.
    public var cacheControl: CacheControl? {
        get { self[.cacheControl].map { CacheControl($0) } }
        set { self[.cacheControl] = newValue?.fieldValue }
    }

    /// The links of all Link fields (RFC 8288), in order.
    public var links: [WebLink] { values(of: .link).flatMap(WebLink.links) }

    /// The first link that is `relation` to the answer, such as `next`.
    public func link(_ relation: String) -> WebLink? {
        links.first { $0.isRelated(as: relation) }
    }

    /// When to ask again (RFC 9110 §10.2.3); nil when the field is missing or malformed.
    public var retryAfter: RetryAfter? { first(.retryAfter).flatMap { RetryAfter(fieldValue: $0) } }

    /// The parts that Range asks for; nil when it is missing or malformed, setting nil removes it.
    public var byteRanges: [ByteRange]? {
        get { self[.range].flatMap(ByteRange.ranges) }
        set { self[.range] = newValue.map(ByteRange.fieldValue) }
    }

    /// The part that the body is; nil when Content-Range is missing or malformed.
    public var contentRange: ContentRange? { first(.contentRange).flatMap(ContentRange.init(fieldValue:)) }

    /// The tag of the state that the body shows; nil when ETag is missing or malformed.
    public var entityTag: EntityTag? { first(.etag).flatMap(EntityTag.init(fieldValue:)) }

    /// The states to act on; nil when If-Match is missing or malformed, setting nil removes it.
    public var ifMatch: EntityTagCondition? {
        get { self[.ifMatch].flatMap(EntityTagCondition.init(fieldValue:)) }
        set { self[.ifMatch] = newValue?.fieldValue }
    }

    /// The states that are already at hand; nil when If-None-Match is missing or malformed, setting nil removes it.
    public var ifNoneMatch: EntityTagCondition? {
        get { self[.ifNoneMatch].flatMap(EntityTagCondition.init(fieldValue:)) }
        set { self[.ifNoneMatch] = newValue?.fieldValue }
    }

    /// How the body is meant to be presented; nil when Content-Disposition is missing or malformed.
    public var contentDisposition: ContentDisposition? {
        first(.contentDisposition).flatMap(ContentDisposition.init(fieldValue:))
    }

    /// The challenges of a 401: those of all WWW-Authenticate fields, in order.
    public var challenges: [AuthenticationChallenge] {
        values(of: .wwwAuthenticate).flatMap(AuthenticationChallenge.challenges)
    }

    /// The challenges of a 407: those of all Proxy-Authenticate fields, in order.
    public var proxyChallenges: [AuthenticationChallenge] {
        values(of: .proxyAuthenticate).flatMap(AuthenticationChallenge.challenges)
    }

    /// The media type of the body; nil when Content-Type is missing or malformed.
    public var contentType: MediaType? { first(.contentType).flatMap(MediaType.init) }

    /// The date that the field called `name` holds, such as Date, Expires or Last-Modified; nil when it is none.
    public func date(of name: Field.Name, now: Date = Date()) -> HTTPDate? {
        first(name).flatMap { HTTPDate($0, now: now) }
    }

    /// The value of the first field called `name`: of a field that may come only once.
    private func first(_ name: Field.Name) -> String? {
        first { $0.name == name }?.value
    }
}

extension Field {
    /// Cache-Control (RFC 9111 §5.2).
    public static func cacheControl(_ control: CacheControl) -> Field {
        Field(name: .cacheControl, value: control.fieldValue)
    }

    /// Range: asks for parts of the representation (RFC 9110 §14.2).
    public static func range(_ ranges: ByteRange...) -> Field {
        Field(name: .range, value: ByteRange.fieldValue(ranges))
    }

    /// If-Match: only if the state is one of these (RFC 9110 §13.1.1).
    public static func ifMatch(_ condition: EntityTagCondition) -> Field {
        Field(name: .ifMatch, value: condition.fieldValue)
    }

    /// If-None-Match: only if the state is none of these (RFC 9110 §13.1.2).
    public static func ifNoneMatch(_ condition: EntityTagCondition) -> Field {
        Field(name: .ifNoneMatch, value: condition.fieldValue)
    }

    /// If-Modified-Since: only if it has changed since (RFC 9110 §13.1.3).
    public static func ifModifiedSince(_ date: Date) -> Field {
        Field(name: .ifModifiedSince, value: HTTPDate(date).description)
    }

    /// If-Unmodified-Since: only if it has not changed since (RFC 9110 §13.1.4).
    public static func ifUnmodifiedSince(_ date: Date) -> Field {
        Field(name: .ifUnmodifiedSince, value: HTTPDate(date).description)
    }

    /// If-Range: the range if the state is still this one, otherwise the whole (RFC 9110 §13.1.5).
    public static func ifRange(_ tag: EntityTag) -> Field {
        Field(name: .ifRange, value: tag.fieldValue)
    }

    /// Content-Disposition (RFC 6266).
    public static func contentDisposition(_ disposition: ContentDisposition) -> Field {
        Field(name: .contentDisposition, value: disposition.fieldValue)
    }
}
