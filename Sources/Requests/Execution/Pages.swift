/// How one page of a list leads to the next.
public struct Paging<API: RequestProviding, Page>: Sendable {
    /// The shape of the function: the page, the request that asked for it, and the request for the page after; nil at
    /// the end.
    public typealias Next = @Sendable (TypedResponse<Page>, Request<API, Page>) throws -> Request<API, Page>?

    let next: Next

    /// Paging by a function of your own.
    public init(_ next: @escaping Next) {
        self.next = next
    }

    /// The next page is where the Link field with the relation `next` leads (RFC 8288).
    ///
    /// A link to another origin is ``RequestError/Reason/unexpectedRedirect``: it would be told the credentials.
    public static var linkHeader: Paging {
        Paging { response, request in
            guard let link = response.header.link("next") else { return nil }
            guard let target = link.target(relativeTo: response.head.target),
                target.hasSameOrigin(as: response.head.target)
            else {
                throw RequestError(
                    .unexpectedRedirect, detail: "the next page is at another origin", response: response.head)
            }
            var following = request
            following.endpoint = .reference(target.absoluteString)
            following.queryItems = .empty
            return following
        }
    }

    /// The next page is asked for with the query item `name`, whose value `cursor` finds in the page; nil at the end.
    public static func cursor(
        _ name: String = "cursor", _ cursor: @escaping @Sendable (Page) -> String?
    ) -> Paging {
        Paging { response, request in cursor(response.value).map { request.replacing(queryItem: name, with: $0) } }
    }

    /// Pages are counted in the query item `name` until one is the last.
    ///
    /// A first request without the item asks for page `first`.
    public static func pageNumber(
        _ name: String = "page", first: Int = 1, isLast: @escaping @Sendable (Page) -> Bool
    ) -> Paging {
        Paging { response, request in
            guard !isLast(response.value) else { return nil }
            let current = request.queryItems.first { $0.name == name }?.value.flatMap { Int($0) } ?? first
            let (number, isTooLarge) = current.addingReportingOverflow(1)
            return isTooLarge ? nil : request.replacing(queryItem: name, with: String(number))
        }
    }
}

extension Request {
    fileprivate func replacing(queryItem name: String, with value: String) -> Self {
        var items = QueryItems(queryItems.filter { $0.name != name })
        items.add(name, value)
        return with(query: items)
    }
}

/// The pages of a list, each requested when the one before has been taken.
///
/// A list whose pages lead back to an earlier one ends with an error.
public struct Pages<API: RequestProviding, Page>: AsyncSequence {
    /// What ended the pages early.
    public typealias Failure = RequestError
    /// One page.
    public typealias Element = Page

    let client: Client<API>
    let first: Request<API, Page>
    let paging: Paging<API, Page>

    /// Begins at the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, request: first, paging: paging)
    }

    /// Asks for one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let client: Client<API>
        fileprivate var request: Request<API, Page>?
        fileprivate let paging: Paging<API, Page>
        /// The URLs that have been requested, without fragments, which are never sent.
        fileprivate var requested: Set<String> = []

        /// The next page; nil after the last, and after an error.
        public mutating func next() async throws(RequestError) -> Page? {
            try await next(isolation: #isolation)
        }

        /// The next page; nil after the last, and after an error.
        ///
        /// A page that leads to itself or to an earlier page is ``RequestError/Reason/other``: the pages would never end.
        /// A page is its URL without the fragment, so the iterator keeps the URLs of all pages it has requested.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Page? {
            guard let current = request else { return nil }
            request = nil
            let response = try await client.response(for: current)
            let following = try RequestError.wrapping(.other) { try paging.next(response, current) }
            if let following {
                requested.insert(try current.target().absoluteForm)
                let target = try following.target()
                guard !requested.contains(target.absoluteForm) else {
                    throw RequestError(
                        .other, detail: "the pages form a cycle: \(target) was requested before",
                        response: response.head)
                }
            }
            request = following
            return response.value
        }
    }
}

extension Pages: Sendable {}

extension Client {
    /// The pages of a list that begins with `first`, each asked for when the one before has been taken.
    ///
    /// ```swift
    /// for try await repos in client.pages(of: api.get(.json([Repo].self), from: "/repos"), by: .linkHeader) { … }
    /// ```
    public func pages<Page>(of first: Request<API, Page>, by paging: Paging<API, Page>) -> Pages<API, Page> {
        Pages(client: self, first: first, paging: paging)
    }
}
