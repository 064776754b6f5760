/// The pages of a list, each requested when the previous one has been received.
///
/// If a page leads back to an earlier page, or the request for the next page cannot be found, that page is delivered,
/// and then the sequence ends with an error.
public struct Pages<API: RequestProviding, Page>: AsyncSequence {
    /// The error that ended the pages early.
    public typealias Failure = RequestError
    /// The value of one page.
    public typealias Element = Page

    let client: Client<API>
    let first: Request<API, Page>
    let strategy: Strategy

    /// Returns an iterator that begins at the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, request: first, strategy: strategy)
    }

    /// An iterator that requests one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let client: Client<API>
        fileprivate var request: Request<API, Page>?
        fileprivate let strategy: Strategy
        /// The error found with the last delivered page; it ends the pages.
        fileprivate var failure: RequestError?
        /// The URLs that have been requested, without fragments, because fragments are not sent.
        fileprivate var requested: Set<String> = []

        /// Returns the next page; nil after the last one and after an error.
        public mutating func next() async throws(RequestError) -> Page? {
            try await next(isolation: #isolation)
        }

        /// Returns the next page; nil after the last one and after an error.
        ///
        /// The URL of a page, without its fragment, identifies the page. The iterator keeps the URLs of all pages it
        /// has requested, so memory use grows with their number.
        ///
        /// - Throws: The error of the request or its decoder; or the error of the strategy for the page that was
        ///   returned before, and ``RequestError/Reason/other`` if that page leads to itself or to an earlier page,
        ///   which would repeat the pages without end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Page? {
            if let failure {
                self.failure = nil
                throw failure
            }
            guard let current = request else { return nil }
            // Cleared first, because an error ends the pages.
            request = nil
            let response = try await client.response(for: current)
            do throws(RequestError) {
                request = try following(current, response)
            } catch {
                // The page has arrived, so it is delivered first.
                failure = error
            }
            return response.value
        }

        /// Returns the request for the page after `response`; nil if it is the last page.
        private mutating func following(
            _ current: Request<API, Page>, _ response: TypedResponse<Page>
        ) throws(RequestError) -> Request<API, Page>? {
            guard let following = try RequestError.wrapping(.other, { try strategy.next(response, current) }) else {
                return nil
            }
            requested.insert(try current.target().absoluteForm)
            let target = try following.target()
            guard !requested.contains(target.absoluteForm) else {
                throw RequestError(
                    .other, detail: "the pages form a cycle: \(target) was requested before", response: response.head)
            }
            return following
        }
    }
}

extension Pages: Sendable {}

extension Pages {
    /// A strategy that finds the request for the next page of a list.
    public struct Strategy: Sendable {
        /// A function that finds the request for the next page.
        ///
        /// It receives a page and its request, and returns the request for the next page, or nil at the end.
        public typealias Next = @Sendable (TypedResponse<Page>, Request<API, Page>) throws -> Request<API, Page>?

        let next: Next

        /// Creates a strategy from a function.
        public init(_ next: @escaping Next) {
            self.next = next
        }

        /// A strategy that follows the Link field with the relation `next` (RFC 8288).
        ///
        /// If the link of a page is malformed, or leads to another origin, which would receive the credentials, the
        /// pages end after that page with ``RequestError/Reason/unexpectedRedirect``.
        public static var linkHeader: Strategy {
            Strategy { response, request in
                guard let link = response.header.link(relation: "next") else { return nil }
                guard let target = link.target(relativeTo: response.head.target),
                    // Also after a redirect: the origin that it led to has not received the credentials.
                    target.hasSameOrigin(as: try request.target())
                else {
                    throw RequestError(
                        .unexpectedRedirect, detail: "the next-page link is malformed or to another origin",
                        response: response.head)
                }
                var following = request
                following.endpoint = .reference(target.absoluteString)
                following.queryItems = .empty
                return following
            }
        }

        /// Returns a strategy that requests the next page with a cursor in the query item `name`.
        ///
        /// `cursor` finds the value for the next page in a page, and returns nil at the end.
        public static func cursor(
            _ name: String = "cursor", _ cursor: @escaping @Sendable (Page) -> String?
        ) -> Strategy {
            Strategy { response, request in
                cursor(response.value).map { request.replacing(queryItem: name, with: $0) }
            }
        }

        /// Returns a strategy that counts pages in the query item `name`.
        ///
        /// The pages end with the first page for which `isLast` returns true.
        ///
        /// A request without the item counts as a request for page `first`.
        public static func pageNumber(
            _ name: String = "page", first: Int = 1, isLast: @escaping @Sendable (Page) -> Bool
        ) -> Strategy {
            Strategy { response, request in
                guard !isLast(response.value) else { return nil }
                let current = request.queryItems.first { $0.name == name }?.value.flatMap { Int($0) } ?? first
                let (number, isTooLarge) = current.addingReportingOverflow(1)
                return isTooLarge ? nil : request.replacing(queryItem: name, with: String(number))
            }
        }
    }
}

extension Request {
    /// Returns this request with one query item in place of all items with the same name.
    fileprivate func replacing(queryItem name: String, with value: String) -> Self {
        var items = QueryItems(queryItems.filter { $0.name != name })
        items.add(name: name, value: value)
        return with(query: items)
    }
}

extension Client {
    /// Returns the pages of a list that begins with `first`, each requested when the previous one has been received.
    ///
    /// ```swift
    /// for try await repos in client.pages(of: Repos.list, by: .linkHeader) { … }
    /// for try await repo in client.pages(of: Repos.list, by: .linkHeader).items { … }
    /// ```
    public func pages<E: Endpoint>(
        of first: E, by strategy: Pages<API, E.Resource>.Strategy
    ) -> Pages<API, E.Resource> where E.API == API {
        Pages(client: self, first: first.identifiedRequest(from: api), strategy: strategy)
    }

    /// Returns the pages of a list that begins with `first`, each requested when the previous one has been received.
    public func pages<Page>(of first: Call<API, Page>, by strategy: Pages<API, Page>.Strategy) -> Pages<API, Page> {
        Pages(client: self, first: first.request(from: api), strategy: strategy)
    }

    /// Returns the pages of a list; `make` describes the request for the first page.
    ///
    /// Each page is requested when the previous one has been received.
    public func pages<Page>(
        of make: (API) -> Request<API, Page>, by strategy: Pages<API, Page>.Strategy
    ) -> Pages<API, Page> {
        Pages(client: self, first: make(api), strategy: strategy)
    }
}
