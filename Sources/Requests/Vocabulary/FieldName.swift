extension Field {
    /// The name of a header field, compared without regard to ASCII case (RFC 9110 §5.1).
    ///
    /// A name is sent with its original spelling. If it is not a token, preparing the request throws an error.
    public struct Name: Sendable {
        /// The name with its original spelling.
        public let rawValue: String

        /// Creates a name that keeps the spelling of `rawValue`; it is validated when the request is prepared.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name in lower case, with only the letters A to Z folded.
        public var canonicalName: String { ASCIIFolding.folded(rawValue) }

        /// The name with each part capitalized, and with `WWW`, `ETag`, `MD5`, `TE` and `DNT` in their usual spelling.
        ///
        /// Use it to display names consistently. Requests send names with their original spelling.
        public var usualSpelling: String {
            rawValue.splitBytes(at: "-", omittingEmptySubsequences: false).map { part in
                switch ASCIIFolding.folded(String(part)) {
                case "www": "WWW"
                case "etag": "ETag"
                case "md5": "MD5"
                case "te": "TE"
                case "dnt": "DNT"
                case let folded:
                    // Clearing bit 0x20 makes an ASCII letter upper-case; 0x61 is a.
                    String(
                        decoding: folded.utf8.enumerated().map { $0 == 0 && $1 &- 0x61 < 26 ? $1 & 0xDF : $1 },
                        as: UTF8.self)
                }
            }.joined(separator: "-")
        }

        /// Whether the name is a token (RFC 9110 §5.6.2); other names cannot be sent.
        package var isValid: Bool { Token.isToken(rawValue) }
    }
}

extension Field.Name: Hashable {
    /// Returns whether the names are equal, ignoring ASCII case.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIIFolding.areEqual(left.rawValue, right.rawValue)
    }

    /// Hashes the folded bytes, so that equal names hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(rawValue, into: &hasher)
    }
}

extension Field.Name: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a name that keeps the spelling of the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The name with its original spelling.
    public var description: String { rawValue }

    /// Returns whether `value` is the same name, so that a `switch` over strings can use field names as patterns.
    public static func ~= (pattern: Self, value: String) -> Bool {
        ASCIIFolding.areEqual(pattern.rawValue, value)
    }
}

// Computed: each access to a stored static checks whether it is initialized.
extension Field.Name {
    /// Accept (RFC 9110 §12.5.1).
    public static var accept: Self { Self("Accept") }
    /// Accept-Charset (RFC 9110 §12.5.2).
    public static var acceptCharset: Self { Self("Accept-Charset") }
    /// Accept-Encoding (RFC 9110 §12.5.3).
    public static var acceptEncoding: Self { Self("Accept-Encoding") }
    /// Accept-Language (RFC 9110 §12.5.4).
    public static var acceptLanguage: Self { Self("Accept-Language") }
    /// Accept-Ranges (RFC 9110 §14.3).
    public static var acceptRanges: Self { Self("Accept-Ranges") }
    /// Age (RFC 9111 §5.1).
    public static var age: Self { Self("Age") }
    /// Allow (RFC 9110 §10.2.1).
    public static var allow: Self { Self("Allow") }
    /// Authorization (RFC 9110 §11.6.2).
    public static var authorization: Self { Self("Authorization") }
    /// Cache-Control (RFC 9111 §5.2).
    public static var cacheControl: Self { Self("Cache-Control") }
    /// Connection (RFC 9110 §7.6.1); set only by the executor.
    public static var connection: Self { Self("Connection") }
    /// Content-Disposition (RFC 6266).
    public static var contentDisposition: Self { Self("Content-Disposition") }
    /// Content-Encoding (RFC 9110 §8.4).
    public static var contentEncoding: Self { Self("Content-Encoding") }
    /// Content-Language (RFC 9110 §8.5).
    public static var contentLanguage: Self { Self("Content-Language") }
    /// Content-Length (RFC 9110 §8.6); set only by the executor.
    public static var contentLength: Self { Self("Content-Length") }
    /// Content-Location (RFC 9110 §8.7).
    public static var contentLocation: Self { Self("Content-Location") }
    /// Content-Range (RFC 9110 §14.4).
    public static var contentRange: Self { Self("Content-Range") }
    /// Content-Type (RFC 9110 §8.3).
    public static var contentType: Self { Self("Content-Type") }
    /// Cookie (RFC 6265 §5.4).
    public static var cookie: Self { Self("Cookie") }
    /// Date (RFC 9110 §6.6.1).
    public static var date: Self { Self("Date") }
    /// ETag (RFC 9110 §8.8.3).
    public static var etag: Self { Self("ETag") }
    /// Expect (RFC 9110 §10.1.1); set only by the executor.
    public static var expect: Self { Self("Expect") }
    /// Expires (RFC 9111 §5.3).
    public static var expires: Self { Self("Expires") }
    /// From (RFC 9110 §10.1.2).
    public static var from: Self { Self("From") }
    /// Host (RFC 9110 §7.2); set only by the executor.
    public static var host: Self { Self("Host") }
    /// Idempotency-Key, a convention of many APIs.
    public static var idempotencyKey: Self { Self("Idempotency-Key") }
    /// If-Match (RFC 9110 §13.1.1).
    public static var ifMatch: Self { Self("If-Match") }
    /// If-Modified-Since (RFC 9110 §13.1.3).
    public static var ifModifiedSince: Self { Self("If-Modified-Since") }
    /// If-None-Match (RFC 9110 §13.1.2).
    public static var ifNoneMatch: Self { Self("If-None-Match") }
    /// If-Range (RFC 9110 §13.1.5).
    public static var ifRange: Self { Self("If-Range") }
    /// If-Unmodified-Since (RFC 9110 §13.1.4).
    public static var ifUnmodifiedSince: Self { Self("If-Unmodified-Since") }
    /// Keep-Alive (RFC 2068 §19.7.1); set only by the executor.
    public static var keepAlive: Self { Self("Keep-Alive") }
    /// Last-Modified (RFC 9110 §8.8.2).
    public static var lastModified: Self { Self("Last-Modified") }
    /// Link (RFC 8288).
    public static var link: Self { Self("Link") }
    /// Location (RFC 9110 §10.2.2).
    public static var location: Self { Self("Location") }
    /// Origin (RFC 6454).
    public static var origin: Self { Self("Origin") }
    /// Prefer (RFC 7240).
    public static var prefer: Self { Self("Prefer") }
    /// Proxy-Authenticate (RFC 9110 §11.7.1).
    public static var proxyAuthenticate: Self { Self("Proxy-Authenticate") }
    /// Proxy-Authorization (RFC 9110 §11.7.2).
    public static var proxyAuthorization: Self { Self("Proxy-Authorization") }
    /// Proxy-Connection, which no standard defines; set only by the executor.
    public static var proxyConnection: Self { Self("Proxy-Connection") }
    /// Range (RFC 9110 §14.2).
    public static var range: Self { Self("Range") }
    /// Referer (RFC 9110 §10.1.3).
    public static var referer: Self { Self("Referer") }
    /// Retry-After (RFC 9110 §10.2.3).
    public static var retryAfter: Self { Self("Retry-After") }
    /// Server (RFC 9110 §10.2.4).
    public static var server: Self { Self("Server") }
    /// Set-Cookie (RFC 6265 §4.1), whose values are never joined.
    public static var setCookie: Self { Self("Set-Cookie") }
    /// TE (RFC 9110 §10.1.4); set only by the executor.
    public static var te: Self { Self("TE") }
    /// Trailer (RFC 9110 §6.6.2); set only by the executor.
    public static var trailer: Self { Self("Trailer") }
    /// Transfer-Encoding (RFC 9112 §6.1); set only by the executor.
    public static var transferEncoding: Self { Self("Transfer-Encoding") }
    /// Upgrade (RFC 9110 §7.8); set only by the executor.
    public static var upgrade: Self { Self("Upgrade") }
    /// User-Agent (RFC 9110 §10.1.5).
    public static var userAgent: Self { Self("User-Agent") }
    /// Vary (RFC 9110 §12.5.5).
    public static var vary: Self { Self("Vary") }
    /// Via (RFC 9110 §7.6.3).
    public static var via: Self { Self("Via") }
    /// WWW-Authenticate (RFC 9110 §11.6.1).
    public static var wwwAuthenticate: Self { Self("WWW-Authenticate") }
}
