/// The absolute URI a request is for (RFC 9110 §7.1), in the parts that an executor needs.
///
/// Scheme and host are lower case, a default port is dropped, an IPv6 zone and the userinfo are kept apart: neither is
/// ever sent or printed.
public struct TargetURI: Sendable {
    // One reference: requests and responses carry targets through every stage and copy them often.
    private let parts: Parts

    /// Where a target is found; all that are made of one base share it.
    private final class Server: Sendable {
        let scheme: String
        let userinfo: String?
        let host: String
        let zone: String?
        let port: Int?
        let authority: String

        init(scheme: String, userinfo: String?, host: String, zone: String?, port: Int?) {
            self.scheme = scheme
            self.userinfo = userinfo
            self.host = host
            self.zone = zone
            self.port = port == TargetURI.defaultPort(of: scheme) ? nil : port
            authority = self.port.map { "\(host):\($0)" } ?? host
        }
    }

    private final class Parts: Sendable {
        let server: Server
        /// The path and, behind a question mark, the query.
        let requestTarget: String
        let pathLength: Int
        let fragment: String?

        init(_ server: Server, _ requestTarget: String, pathLength: Int, fragment: String?) {
            self.server = server
            self.requestTarget = requestTarget
            self.pathLength = pathLength
            self.fragment = fragment
        }

        var pathEnd: String.Index { requestTarget.utf8.index(requestTarget.startIndex, offsetBy: pathLength) }

        var hasQuery: Bool { pathLength < requestTarget.utf8.count }
    }

    /// The scheme in lower case, such as `https`.
    public var scheme: String { parts.server.scheme }

    /// The host in lower case, an IPv6 address in brackets, in its canonical form (RFC 5952) and without its zone.
    public var host: String { parts.server.host }

    /// The port, unless it is the scheme's default.
    public var port: Int? { parts.server.port }

    /// The path, percent-encoded; never empty for http and https.
    public var path: String {
        parts.hasQuery ? String(parts.requestTarget[..<parts.pathEnd]) : parts.requestTarget
    }

    /// The query, percent-encoded and without its question mark; nil when there is none.
    public var query: String? {
        parts.hasQuery ? String(parts.requestTarget.droppingFirstBytes(parts.pathLength + 1)) : nil
    }

    /// The fragment, percent-encoded and without its number sign; never sent.
    public var fragment: String? { parts.fragment }

    /// The zone of a link-local IPv6 address, such as `eth0`.
    package var zone: String? { parts.server.zone }

    /// The userinfo as written, percent-encoded; it becomes Basic credentials when nothing else sets them.
    var userinfo: String? { parts.server.userinfo }

    init(
        scheme: String, userinfo: String?, host: String, zone: String?, port: Int?, path: String, query: String?,
        fragment: String?
    ) {
        self.init(
            Server(scheme: scheme, userinfo: userinfo, host: host, zone: zone, port: port), path: path, query: query,
            fragment: fragment)
    }

    private init(_ server: Server, path: String, query: String?, fragment: String?) {
        let path = path.isEmpty ? "/" : path
        parts = Parts(
            server, query.map { "\(path)?\($0)" } ?? path, pathLength: path.utf8.count, fragment: fragment)
    }

    /// The port the scheme implies: 80 for http, 443 for https, nil for any other.
    public static func defaultPort(of scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// The port to connect to: the one written, or the scheme's default; nil when there is neither.
    public var effectivePort: Int? { port ?? Self.defaultPort(of: scheme) }

    /// The host and, unless it is the default, the port: the value of the Host field (RFC 9110 §7.2).
    public var authority: String { parts.server.authority }

    /// The path and the query: the request target in origin-form (RFC 9112 §3.2.1).
    public var requestTarget: String { parts.requestTarget }

    /// The scheme, host and port as one text (RFC 6454 §6.1), without the zone of an IPv6 address, which is never sent.
    ///
    /// To find out whether two targets may share secrets, call ``hasSameOrigin(as:)``.
    public var origin: String { "\(scheme)://\(authority)" }

    /// The whole URI without userinfo and fragment: the request target in absolute-form (RFC 9112 §3.2.2).
    public var absoluteForm: String { origin + requestTarget }

    /// The whole URI, the fragment included, the userinfo left out.
    public var absoluteString: String {
        fragment.map { "\(absoluteForm)#\($0)" } ?? absoluteForm
    }

    /// The URI with the values of secret items in query and fragment replaced by a mark.
    public func redacted(by redaction: Redaction = .standard) -> String {
        replacing(
            path: path, query: query.map(redaction.redacted(query:)), fragment: fragment.map(redaction.redacted(query:))
        ).absoluteString
    }

    /// Returns a Boolean value that indicates whether both targets have the same scheme, host, port and IPv6 zone.
    ///
    /// Only targets of one origin may share secrets and connections (RFC 6454 §4). An IPv6 address with another zone is
    /// the address of another machine (RFC 4007 §6).
    public func hasSameOrigin(as other: TargetURI) -> Bool {
        parts.server === other.parts.server
            || host == other.host && port == other.port && scheme == other.scheme && zone == other.zone
    }

    /// The reason why no request can be sent to this target; nil when there is none.
    ///
    /// A URI may have the port 0, but a server cannot listen on it (RFC 6335 §6).
    var problem: InvalidRequest? { port == 0 ? .invalidPort : nil }

    func replacing(path: String, query: String?, fragment: String?) -> TargetURI {
        TargetURI(parts.server, path: path, query: query, fragment: fragment)
    }
}

extension TargetURI {
    /// This target with `path` below its own, one slash between them and a trailing one kept, and with `items` and
    /// `added`, which is encoded, behind the query it has.
    func appending(path added: String, items: QueryItems = .empty, query: String? = nil) -> TargetURI {
        let own = parts.requestTarget
        // Nothing has to be put together below the root of a host.
        if own == "/", items.isEmptyText, query?.isEmpty != false, added.utf8.first == UInt8(ascii: "/") {
            return TargetURI(Parts(parts.server, added, pathLength: added.utf8.count, fragment: fragment))
        }
        let capacity =
            own.utf8.count + added.utf8.count + items.encodedCapacity(with: .strict) + (query?.utf8.count ?? 0) + 3
        var pathLength = 0
        let requestTarget = String(unsafeUninitializedCapacity: capacity) { memory in
            var pen = BytePen(memory)
            var own = own
            own.withUTF8 { own in
                let ownPath = own[..<parts.pathLength]
                let isRooted = added.utf8.first == UInt8(ascii: "/")
                let hasSlash = ownPath.last == UInt8(ascii: "/")
                pen.write(UnsafeBufferPointer(rebasing: hasSlash && isRooted ? ownPath.dropLast() : ownPath))
                if !added.isEmpty, !hasSlash, !isRooted { pen.write(UInt8(ascii: "/")) }
                pen.write(added)
                pathLength = pen.count
                pen.write(UnsafeBufferPointer(rebasing: own[parts.pathLength...]))
            }
            // What comes next is divided from a query before it, and begins one when there is none.
            var mark: UInt8? = UInt8(ascii: "?")
            if parts.hasQuery { mark = parts.pathLength + 1 < own.utf8.count ? UInt8(ascii: "&") : nil }
            if !items.isEmptyText {
                if let mark { pen.write(mark) }
                items.write(.strict, with: &pen)
                mark = UInt8(ascii: "&")
            }
            if let query, !query.isEmpty {
                if let mark { pen.write(mark) }
                pen.write(query)
            }
            return pen.count
        }
        return TargetURI(Parts(parts.server, requestTarget, pathLength: pathLength, fragment: fragment))
    }

    private init(_ parts: Parts) {
        self.parts = parts
    }
}

extension TargetURI: Hashable {
    /// Whether all parts are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.parts === right.parts
            || left.requestTarget == right.requestTarget && left.fragment == right.fragment
                && left.host == right.host && left.port == right.port && left.scheme == right.scheme
                && left.zone == right.zone && left.userinfo == right.userinfo
    }

    /// Hashes what tells most targets apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(requestTarget)
    }
}

extension TargetURI: CustomStringConvertible, CustomReflectable {
    /// The URI with its secrets redacted.
    public var description: String { redacted() }

    /// What `dump` sees: the redacted URI.
    public var customMirror: Mirror { Mirror(self, children: ["uri": description]) }
}

extension TargetURI {
    /// The URI as Foundation's type, the fragment included, the userinfo left out.
    public var url: URL {
        guard let url = URL(string: absoluteString) else {
            // Every part has passed a stricter grammar than URL's; a test fuzzes that.
            preconditionFailure("a target URI that Foundation refuses")
        }
        return url
    }
}
