extension RequestPath {
    /// A type whose values can be the ``RequestConvertible/endpoint`` of a request: `RequestPath` or `String`.
    public protocol Convertible {
        /// The path of the request.
        var requestPath: RequestPath { get }
    }
}

extension RequestPath: RequestPath.Convertible {
    /// This path.
    public var requestPath: RequestPath { self }
}

extension String: RequestPath.Convertible {
    /// The path with this text, which is trusted like a literal.
    public var requestPath: RequestPath { RequestPath(self) }
}

extension QueryItems {
    /// A type whose values can be the ``RequestConvertible/queryItems`` of a request.
    ///
    /// `QueryItems` and arrays of Foundation's items conform.
    public protocol Convertible {
        /// The query items, in their order.
        var requestQuery: QueryItems { get }
    }
}

extension QueryItems: QueryItems.Convertible {
    /// These query items.
    public var requestQuery: QueryItems { self }
}

extension Array: QueryItems.Convertible where Element == URLQueryItem {
    /// The query items with the names and values of Foundation's.
    public var requestQuery: QueryItems { QueryItems(self) }
}
