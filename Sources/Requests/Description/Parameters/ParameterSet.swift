/// Parameters of a request and where they go.
///
/// A request may have several. When it is prepared, those of one destination are merged, the later value of a name in the
/// place of the earlier, in the format of the last. Of form, JSON and property list, which share the one body, the last
/// that was added wins. A body that was set with ``Request/sending(_:)`` is not replaced: then parameters for a body are
/// left out, except that a multipart form takes those of a form or property list as fields after its own parts.
public struct ParameterSet: Sendable {
    /// Where parameters go.
    public struct Destination: Sendable {
        enum Kind: Sendable {
            case query(ParameterFormat)
            case form(ParameterFormat)
            case json
            case propertyList
            indirect case byMethod(ParameterFormat, body: Kind, queryMethods: Set<HTTPMethod>)
            case custom(@Sendable (RequestParameters, inout PreparedRequest) throws -> Void)
        }

        let kind: Kind

        /// The query, whatever the method.
        public static let query = Destination(kind: .query(.standard))

        /// The query, whatever the method, written as `format` says.
        public static func query(_ format: ParameterFormat) -> Destination { Destination(kind: .query(format)) }

        /// The body, as a form.
        public static let form = Destination(kind: .form(.standard))

        /// The body, as a form written as `format` says.
        public static func form(_ format: ParameterFormat) -> Destination { Destination(kind: .form(format)) }

        /// The body, as a JSON object.
        public static let json = Destination(kind: .json)

        /// The body, as a property list in XML.
        public static let propertyList = Destination(kind: .propertyList)

        /// The query for GET, HEAD and DELETE, a form in the body for other methods.
        public static let byMethod = Destination.byMethod()

        /// The query for some methods, compared without regard to case, and the body for the others.
        ///
        /// - Parameters:
        ///   - format: How the query, or the form, is written.
        ///   - body: What the body is: ``form``, ``json`` or ``propertyList``.
        ///   - queryMethods: The methods whose parameters go to the query.
        /// - Returns: The destination.
        public static func byMethod(
            _ format: ParameterFormat = .standard, body: Destination = .form,
            queryMethods: Set<HTTPMethod> = [.get, .head, .delete]
        ) -> Destination {
            Destination(kind: .byMethod(format, body: body.kind, queryMethods: queryMethods))
        }

        /// Wherever `apply` puts them: it changes the request, everything but the authentication being decided.
        ///
        /// Such sets are not merged; each is applied, in order, after all others.
        public static func custom(
            _ apply: @escaping @Sendable (RequestParameters, inout PreparedRequest) throws -> Void
        ) -> Destination {
            Destination(kind: .custom(apply))
        }
    }

    /// Where the parameters go.
    public let destination: Destination

    private let make: @Sendable () throws -> RequestParameters

    /// A set of `parameters` that go to `destination`.
    public init(_ parameters: RequestParameters, in destination: Destination) {
        self.destination = destination
        make = { parameters }
    }

    /// A set of what `value` encodes as, each time the request is prepared, which goes to `destination`.
    public init(encoding value: some Encodable & Sendable, in destination: Destination) {
        self.destination = destination
        make = { try RequestParameters(encoding: value) }
    }

    /// The parameters.
    ///
    /// - Throws: ``InvalidParameters``, or what an `Encodable` value throws.
    public func parameters() throws -> RequestParameters { try make() }
}
