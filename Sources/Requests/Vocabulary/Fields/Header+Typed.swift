extension Header {
    /// The directives of Cache-Control, or nil if there is no such field; setting nil removes it.
    public var cacheControl: CacheControl? {
        get { self[.cacheControl].map { CacheControl(fieldValue: $0) } }
        set { self[.cacheControl] = newValue?.fieldValue }
    }

    /// The links of all Link fields, in order (RFC 8288).
    public var links: [WebLink] { values(of: .link).flatMap(WebLink.links) }

    /// Returns the first link with a relation type, such as `next`, or nil if there is none.
    public func link(relation: String) -> WebLink? {
        links.first { $0.hasRelation(relation) }
    }

    /// The value of Retry-After, or nil if it is missing or malformed (RFC 9110 §10.2.3).
    public var retryAfter: RetryAfter? { first(.retryAfter).flatMap { RetryAfter(fieldValue: $0) } }

    /// The byte ranges of Range, or nil if it is missing or malformed; setting nil removes the field.
    public var byteRanges: [ByteRange]? {
        get { self[.range].flatMap(ByteRange.ranges) }
        set { self[.range] = newValue.map(ByteRange.fieldValue) }
    }

    /// The part of the representation in the body, or nil if Content-Range is missing, malformed, or has several values
    /// that differ.
    public var contentRange: ContentRange? {
        let ranges = values(of: .contentRange).map(ContentRange.init(fieldValue:))
        guard let first = ranges.first, ranges.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    /// The entity tag of the representation, or nil if ETag is missing or malformed.
    public var entityTag: EntityTag? { first(.etag).flatMap(EntityTag.init(fieldValue:)) }

    /// The condition of If-Match, or nil if it is missing or malformed; setting nil removes the field.
    public var ifMatch: EntityTag.Condition? {
        get { self[.ifMatch].flatMap(EntityTag.Condition.init(fieldValue:)) }
        set { self[.ifMatch] = newValue?.fieldValue }
    }

    /// The condition of If-None-Match, or nil if it is missing or malformed; setting nil removes the field.
    public var ifNoneMatch: EntityTag.Condition? {
        get { self[.ifNoneMatch].flatMap(EntityTag.Condition.init(fieldValue:)) }
        set { self[.ifNoneMatch] = newValue?.fieldValue }
    }

    /// The intended presentation of the body, or nil if Content-Disposition is missing or malformed.
    public var contentDisposition: ContentDisposition? {
        first(.contentDisposition).flatMap(ContentDisposition.init(fieldValue:))
    }

    /// The challenges in all WWW-Authenticate fields of a response with status 401, in order.
    public var challenges: [AuthenticationChallenge] {
        values(of: .wwwAuthenticate).flatMap(AuthenticationChallenge.challenges)
    }

    /// The challenges in all Proxy-Authenticate fields of a response with status 407, in order.
    public var proxyChallenges: [AuthenticationChallenge] {
        values(of: .proxyAuthenticate).flatMap(AuthenticationChallenge.challenges)
    }

    /// The media type of the body, or nil if Content-Type is missing or malformed.
    public var contentType: MediaType? { first(.contentType).flatMap(MediaType.init) }

    /// Returns the date in a field such as Date, Expires or Last-Modified.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - now: The current time, which determines the century of two-digit years.
    /// - Returns: The date, or nil if the field is missing or not a date.
    public func date(of name: Field.Name, now: Date = Date()) -> HTTPDate? {
        first(name).flatMap { HTTPDate($0, now: now) }
    }

    /// Returns the value of the first field named `name`, for fields that must not be repeated.
    private func first(_ name: Field.Name) -> String? {
        first { $0.name == name }?.value
    }
}

extension Field {
    /// Returns a Cache-Control field (RFC 9111 §5.2).
    public static func cacheControl(_ control: CacheControl) -> Field {
        Field(name: .cacheControl, value: control.fieldValue)
    }

    /// Returns a Range field, which requests parts of the representation (RFC 9110 §14.2).
    public static func range(_ ranges: ByteRange...) -> Field {
        Field(name: .range, value: ByteRange.fieldValue(ranges))
    }

    /// Returns an If-Match field: the request applies only if the condition matches (RFC 9110 §13.1.1).
    public static func ifMatch(_ condition: EntityTag.Condition) -> Field {
        Field(name: .ifMatch, value: condition.fieldValue)
    }

    /// Returns an If-None-Match field: the request applies only if no tag of the condition matches (RFC 9110 §13.1.2).
    public static func ifNoneMatch(_ condition: EntityTag.Condition) -> Field {
        Field(name: .ifNoneMatch, value: condition.fieldValue)
    }

    /// Returns an If-Modified-Since field: the request applies only if the resource changed after `date`
    /// (RFC 9110 §13.1.3).
    public static func ifModifiedSince(_ date: Date) -> Field {
        Field(name: .ifModifiedSince, value: HTTPDate(date).description)
    }

    /// Returns an If-Unmodified-Since field: the request applies only if the resource did not change after `date`
    /// (RFC 9110 §13.1.4).
    public static func ifUnmodifiedSince(_ date: Date) -> Field {
        Field(name: .ifUnmodifiedSince, value: HTTPDate(date).description)
    }

    /// Returns an If-Range field: the range applies only if the representation has `tag`, otherwise the whole is sent
    /// (RFC 9110 §13.1.5).
    public static func ifRange(_ tag: EntityTag) -> Field {
        Field(name: .ifRange, value: tag.fieldValue)
    }

    /// Returns a Content-Disposition field (RFC 6266).
    public static func contentDisposition(_ disposition: ContentDisposition) -> Field {
        Field(name: .contentDisposition, value: disposition.fieldValue)
    }
}
