/// The target URI of a request (RFC 9110 §7.1), in the parts that an executor needs.
///
/// Scheme and host are in lower case, and the default port of the scheme is omitted. An IPv6 zone and the userinfo are
/// stored separately: the request target, the Host field and descriptions never contain them.
public struct TargetURI: Sendable {
    // One reference, because requests and responses copy their targets often (decision 0015).
    private let parts: Parts

    /// The parts before the path, shared by all targets created from one base URL.
    private final class Server: Sendable {
        let scheme: String
        let userinfo: String?
        let host: String
        let zone: String?
        let port: Int?
        let authority: String
        let origin: OriginKey
        let isHTTP: Bool
        let isHTTPS: Bool

        init(scheme: String, userinfo: String?, host: String, zone: String?, port: Int?) {
            self.scheme = scheme
            self.userinfo = userinfo
            self.host = host
            self.zone = zone
            self.port = port == TargetURI.defaultPort(of: scheme) ? nil : port
            authority = self.port.map { "\(host):\($0)" } ?? host
            origin = OriginKey("\(scheme)://\(authority)")
            isHTTP = scheme == "http"
            isHTTPS = scheme == "https"
        }
    }

    /// An origin as the key of a table.
    package final class OriginKey: Hashable, Sendable {
        /// The scheme, host and port.
        package let text: String

        /// Creates a key from its text.
        package init(_ text: String) {
            self.text = text
        }

        package static func == (left: OriginKey, right: OriginKey) -> Bool {
            // Most targets of an origin share its key.
            left === right || left.text.hasSameBytes(as: right.text)
        }

        package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
    }

    /// The immutable storage of a target.
    private final class Parts: Sendable {
        let server: Server
        /// The path and, after a question mark, the query.
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

        /// Whether the path is a slash, and there is neither a query nor a fragment.
        var isRoot: Bool { requestTarget == "/" && fragment == nil }
    }

    /// The scheme in lower case, such as `https`.
    public var scheme: String { parts.server.scheme }

    /// Whether the scheme is `http`.
    package var isHTTP: Bool { parts.server.isHTTP }

    /// Whether the scheme is `https`.
    package var isHTTPS: Bool { parts.server.isHTTPS }

    /// The host in lower case; an IPv6 address is in canonical form (RFC 5952), in brackets and without its zone.
    public var host: String { parts.server.host }

    /// The port, or nil if it is the default of the scheme.
    public var port: Int? { parts.server.port }

    /// The path, percent-encoded and never empty.
    public var path: String {
        parts.hasQuery ? String(parts.requestTarget[..<parts.pathEnd]) : parts.requestTarget
    }

    /// The query, percent-encoded and without its question mark, or nil if there is none.
    public var query: String? {
        parts.hasQuery ? String(parts.requestTarget.droppingFirstBytes(parts.pathLength + 1)) : nil
    }

    /// The fragment, percent-encoded and without its number sign, or nil if there is none; never sent.
    public var fragment: String? { parts.fragment }

    /// The zone of a link-local IPv6 address, such as `eth0`, or nil if there is none.
    package var zone: String? { parts.server.zone }

    /// The userinfo as written, percent-encoded, which becomes Basic credentials unless others are set (decision 0001).
    package var userinfo: String? { parts.server.userinfo }

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

    /// Returns the default port of a scheme: 80 for http, 443 for https, and nil for others.
    package static func defaultPort(of scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// The port to connect to: ``port`` or the default of the scheme, or nil if there is neither.
    public var effectivePort: Int? { port ?? Self.defaultPort(of: scheme) }

    /// The value of the Host field: the host, and the port unless it is the default (RFC 9110 §7.2).
    public var authority: String { parts.server.authority }

    /// The request target in origin-form: the path and the query (RFC 9112 §3.2.1).
    public var requestTarget: String { parts.requestTarget }

    /// The scheme, host and port as text (RFC 6454 §6.1); the zone of an IPv6 address is left out.
    ///
    /// To check whether two targets may share secrets, call ``hasSameOrigin(as:)``, which also compares the zone.
    public var origin: String { parts.server.origin.text }

    /// The ``origin`` as the key of a table.
    package var originKey: OriginKey { parts.server.origin }

    /// The request target in absolute-form: the URI without userinfo and fragment (RFC 9112 §3.2.2).
    public var absoluteForm: String { origin + requestTarget }

    /// Returns `prefix` and, after it, the URI with its zone, without userinfo and fragment.
    package func text(after prefix: String) -> String {
        let zone = zone.map { "%\($0)" } ?? ""
        let capacity = prefix.utf8.count + origin.utf8.count + zone.utf8.count + requestTarget.utf8.count
        return String(unsafeUninitializedCapacity: capacity) { memory in
            var writer = ByteWriter(memory)
            writer.write(prefix)
            writer.write(origin)
            writer.write(zone)
            writer.write(requestTarget)
            return writer.count
        }
    }

    /// The URI with its fragment and without userinfo.
    public var absoluteString: String {
        fragment.map { "\(absoluteForm)#\($0)" } ?? absoluteForm
    }

    /// Returns the URI with the values of secret items in query and fragment replaced by ``Redaction/placeholder``,
    /// wherever the URI repeats them.
    public func redacted(by redaction: Redaction = .standard) -> String {
        let text = replacing(
            path: path, query: query.map(redaction.redacted(query:)), fragment: fragment.map(redaction.redacted(query:))
        ).absoluteString
        let secrets = redaction.secrets(of: self)
        return secrets.isEmpty ? text : SecretFinder(secrets.flatMap(CredentialText.variants)).redacted(text)
    }

    /// Returns a Boolean value that indicates whether both targets have the same scheme, host, port and IPv6 zone.
    ///
    /// Only targets of one origin may share secrets and connections (RFC 6454 §4). An IPv6 address with another zone is
    /// the address of another machine (RFC 4007 §6).
    public func hasSameOrigin(as other: TargetURI) -> Bool {
        parts.server === other.parts.server
            || host == other.host && port == other.port && scheme == other.scheme && zone == other.zone
    }

    /// The error of a target to which no request can be sent, or nil.
    ///
    /// A URI may have the port 0, but a server cannot listen on it (RFC 6335 §6).
    var problem: RequestError.InvalidRequest? { port == 0 ? .invalidPort : nil }

    /// Returns this target with other parts after the authority, which must be percent-encoded.
    package func replacing(path: String, query: String?, fragment: String?) -> TargetURI {
        TargetURI(parts.server, path: path, query: query, fragment: fragment)
    }
}

extension TargetURI {
    /// Returns this target with a path appended to its path and items appended to its query.
    ///
    /// - Parameters:
    ///   - added: The path to append, percent-encoded, with one slash before it; its trailing slash is kept.
    ///   - items: The items to append to the query.
    ///   - query: Text to append to the query after `items`, percent-encoded.
    /// - Returns: The target.
    func appending(path added: String, items: QueryItems = .empty, query: String? = nil) -> TargetURI {
        // Below the root of a host, the path is the request target unchanged (decision 0015).
        if parts.isRoot, items.isEmptyText, query?.isEmpty != false, added.utf8.first == UInt8(ascii: "/") {
            return TargetURI(Parts(parts.server, added, pathLength: added.utf8.count, fragment: nil))
        }
        return assembling(path: added, items: items, query: query)
    }

    private func assembling(path added: String, items: QueryItems, query: String?) -> TargetURI {
        let own = parts.requestTarget
        let capacity =
            own.utf8.count + added.utf8.count + items.encodedCapacity(with: .strict) + (query?.utf8.count ?? 0) + 3
        var pathLength = 0
        let requestTarget = String(unsafeUninitializedCapacity: capacity) { memory in
            var writer = ByteWriter(memory)
            var own = own
            own.withUTF8 { own in
                let ownPath = own[..<parts.pathLength]
                let isRooted = added.utf8.first == UInt8(ascii: "/")
                let hasSlash = ownPath.last == UInt8(ascii: "/")
                writer.write(UnsafeBufferPointer(rebasing: hasSlash && isRooted ? ownPath.dropLast() : ownPath))
                if !added.isEmpty, !hasSlash, !isRooted { writer.write(UInt8(ascii: "/")) }
                writer.write(added)
                pathLength = writer.count
                writer.write(UnsafeBufferPointer(rebasing: own[parts.pathLength...]))
            }
            // The byte before the next item: `?` begins a query, `&` continues one, and none follows a bare `?`.
            var separator: UInt8? = UInt8(ascii: "?")
            if parts.hasQuery { separator = parts.pathLength + 1 < own.utf8.count ? UInt8(ascii: "&") : nil }
            if !items.isEmptyText {
                if let separator { writer.write(separator) }
                items.write(.strict, with: &writer)
                separator = UInt8(ascii: "&")
            }
            if let query, !query.isEmpty {
                if let separator { writer.write(separator) }
                writer.write(query)
            }
            return writer.count
        }
        return TargetURI(Parts(parts.server, requestTarget, pathLength: pathLength, fragment: fragment))
    }

    private init(_ parts: Parts) {
        self.parts = parts
    }
}

extension TargetURI: Hashable {
    /// Returns whether all parts are equal, including zone, userinfo and fragment.
    public static func == (left: Self, right: Self) -> Bool {
        left.parts === right.parts
            || left.requestTarget == right.requestTarget && left.fragment == right.fragment
                && left.host == right.host && left.port == right.port && left.scheme == right.scheme
                && left.zone == right.zone && left.userinfo == right.userinfo
    }

    /// Hashes the origin and the request target, in which most targets differ.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(originKey)
        hasher.combine(requestTarget)
    }
}

extension TargetURI: CustomStringConvertible, CustomReflectable {
    /// The URI with its secrets redacted.
    public var description: String { redacted() }

    /// The mirror that `dump` prints: the redacted URI.
    public var customMirror: Mirror { Mirror(self, children: ["uri": description]) }
}

extension TargetURI {
    /// The URI as Foundation's type, with its fragment and without userinfo.
    public var url: URL {
        guard let url = URL(string: absoluteString) else {
            // Every part has passed a stricter grammar than `URL` requires; a test fuzzes this.
            preconditionFailure("Foundation rejected a valid URI; report this")
        }
        return url
    }
}
