extension Pages {
    /// The items of all pages, in order; the next page is requested when the items of the previous one have been read.
    ///
    /// The sequence ends with the error that ends the pages.
    public struct Items<Collected: Sequence & Sendable>: AsyncSequence {
        /// The error that ended the pages early.
        public typealias Failure = RequestError
        /// One item of a page.
        public typealias Element = Collected.Element

        let pages: Pages
        let items: @Sendable (Page) -> Collected

        /// Returns an iterator that begins with the first item of the first page.
        public func makeAsyncIterator() -> Iterator {
            Iterator(pages: pages.makeAsyncIterator(), items: items)
        }

        /// An iterator that returns the items of a page and then requests the next page.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var pages: Pages.Iterator
            fileprivate let items: @Sendable (Page) -> Collected
            fileprivate var current: Collected.Iterator?

            /// Returns the next item; nil after the last item, and after an error.
            public mutating func next() async throws(RequestError) -> Collected.Element? {
                try await next(isolation: #isolation)
            }

            /// Returns the next item; nil after the last item, and after an error.
            ///
            /// Pages without items are skipped.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Collected.Element? {
                while true {
                    if let item = current?.next() { return item }
                    current = nil
                    guard let page = try await pages.next(isolation: actor) else { return nil }
                    current = items(page).makeIterator()
                }
            }
        }
    }

    /// Returns the items of all pages, in order; `items` returns the items of one page.
    ///
    /// ```swift
    /// let pages = client.pages(of: Search.repos("swift"), by: .linkHeader)
    /// for try await repo in pages.items(\.results) { … }
    /// ```
    public func items<Collected>(_ items: @escaping @Sendable (Page) -> Collected) -> Items<Collected> {
        Items(pages: self, items: items)
    }
}

extension Pages where Page: Sequence & Sendable {
    /// The items of all pages, in order.
    public var items: Items<Page> { items { $0 } }
}

extension Pages.Items: Sendable {}
