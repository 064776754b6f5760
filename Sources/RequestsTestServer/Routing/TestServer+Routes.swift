@_spi(Lock) import Requests

extension TestServer {
    /// An executor that responds to requests by their paths.
    ///
    /// ```swift
    /// let routes = TestServer.Routes()
    /// routes.on(.get, "/users/:login") { request in
    ///     try .json(User(login: request.parameters["login"] ?? ""))
    /// }
    /// try await withTestServer(serving: routes) { server in … }
    /// ```
    ///
    /// The routes are checked in the order in which they were added. A handler that returns nil passes the request to
    /// the next route that matches. A request that no route handles gets the response of ``onUnhandled(_:)``, or else
    /// the status 404. Copies share their routes, which can also be added while a server is running.
    public struct Routes: RequestExecutor {
        /// A function that responds to a request, or returns nil to pass it to the next route.
        ///
        /// Its error is a response with the status 500 and the description of the error.
        public typealias Handler = @Sendable (RoutedRequest) async throws -> Response?

        private struct Route: Sendable {
            let method: HTTPMethod?
            let pattern: RoutePattern
            let handler: Handler
        }

        private struct State {
            var routes: [Route] = []
            var unhandled: (@Sendable (RoutedRequest) async throws -> Response)?
        }

        private final class Shared: Sendable {
            let state = Lock(State())
        }

        private let shared = Shared()

        /// Creates an executor without routes.
        public init() {}

        /// Adds a route for requests whose path matches `path`.
        ///
        /// The components of both paths are compared after percent-decoding; a slash at the end is ignored. `:name`
        /// matches one component that is not empty.
        ///
        /// - Parameters:
        ///   - method: The method of the requests; nil for any method.
        ///   - path: The pattern of the path; the query is not compared.
        ///   - handler: The function that responds.
        public func on(_ method: HTTPMethod?, _ path: String, _ handler: @escaping Handler) {
            let route = Route(method: method, pattern: RoutePattern(path), handler: handler)
            shared.state.withLock { $0.routes.append(route) }
        }

        /// Sets the function that responds to requests that no route handles.
        public func onUnhandled(_ handler: @escaping @Sendable (RoutedRequest) async throws -> Response) {
            shared.state.withLock { $0.unhandled = handler }
        }

        /// Returns the response of the first route that handles `request`.
        public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            let response: Response
            do {
                response = try await self.response(to: request)
            } catch {
                response = .status(500, "the handler of a route failed: \(error)\n")
            }
            var header = response.header
            if !header.contains(.contentLength), !response.status.forbidsBody {
                header.add(Field(name: .contentLength, value: String(response.body.count)))
            }
            return RawResponse(
                head: ResponseHead(status: response.status, header: header, target: request.target),
                body: .bytes(response.body))
        }

        private func response(to request: PreparedRequest) async throws -> Response {
            let (routes, unhandled) = shared.state.withLock { ($0.routes, $0.unhandled) }
            var routed = RoutedRequest(request)
            for route in routes where route.method == nil || route.method == request.method {
                guard let parameters = route.pattern.parameters(in: request.target.path) else { continue }
                routed.parameters = parameters
                if let response = try await route.handler(routed) { return response }
            }
            routed.parameters = [:]
            if let unhandled { return try await unhandled(routed) }
            return .status(404, "no route handles \(request.method) \(request.target.path)\n")
        }
    }

    /// A request that a route handles.
    public struct RoutedRequest: Sendable {
        /// The values of the `:name` components of the route, percent-decoded.
        ///
        /// A value that would not be UTF-8 remains encoded.
        public internal(set) var parameters: [String: String] = [:]
        private let request: PreparedRequest

        init(_ request: PreparedRequest) {
            self.request = request
        }

        /// The method.
        public var method: HTTPMethod { request.method }
        /// The target, with the host of the request.
        public var target: TargetURI { request.target }
        /// The fields, except the ones that frame the message.
        public var header: Header { request.header }
        /// The whole body without its framing; empty if there is none.
        public var body: Data { if case .bytes(let data) = request.body { data } else { Data() } }

        /// Returns the first value of the query item `name`, percent-decoded and possibly empty; nil if no item of that
        /// name has an equals sign.
        public func queryItem(_ name: String) -> String? {
            for item in (request.target.query ?? "").splitBytes(at: "&") {
                let parts = item.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, PercentEncoding.decode(parts[0]).hasSameBytes(as: name) else { continue }
                return PercentEncoding.decode(parts[1])
            }
            return nil
        }

        /// Returns the parts of a multipart body (RFC 2046 §5.1).
        ///
        /// A body has at most 1,000 parts, each with a header of at most 16 KiB and at most 64 MiB of content.
        ///
        /// - Returns: The parts, in order.
        /// - Throws: ``MultipartError`` if the request has no multipart body, a malformed one, or one over the limits.
        public func multipartParts() throws(MultipartError) -> [MultipartPart] {
            try multipartParts(limits: .init())
        }

        package func multipartParts(limits: MultipartReader.Limits) throws(MultipartError) -> [MultipartPart] {
            var reader = try MultipartReader(contentType: header[.contentType] ?? "", limits: limits)
            var parts: [MultipartPart] = []
            for event in try reader.read(body) {
                switch event {
                case .part(let header): parts.append(MultipartPart(header: header))
                case .data(let data): parts[parts.count - 1].body.append(data)
                }
            }
            try reader.finish()
            return parts
        }
    }

    /// A response of a route.
    public struct Response: Sendable {
        /// The status.
        public var status: HTTPStatus
        /// The fields; Content-Length is added if it is missing.
        public var header: Header
        /// The body, which is not sent in a response to HEAD, and with the status 204 or 304.
        public var body: Data

        /// Creates a response from its parts.
        public init(status: HTTPStatus = 200, header: Header = .empty, body: Data = Data()) {
            self.status = status
            self.header = header
            self.body = body
        }

        /// Returns a response with `text` in UTF-8, without Content-Type if it is empty.
        public static func status(_ status: HTTPStatus, _ text: String = "") -> Response {
            Response(
                status: status, header: text.isEmpty ? .empty : [.contentType(.plainText)], body: Data(text.utf8))
        }

        /// Returns a response with the status 200 and `text` in UTF-8.
        public static func text(_ text: String) -> Response { .status(200, text) }

        /// Returns a response with `value` encoded as JSON.
        ///
        /// - Throws: The error of the encoder.
        public static func json(
            _ value: some Encodable, status: HTTPStatus = 200, using encoder: JSONEncoder = JSONEncoder()
        ) throws -> Response {
            Response(status: status, header: [.contentType(.json)], body: try encoder.encode(value))
        }
    }
}
