/// A set of parameters of a request, with the destination at which they are sent.
///
/// A request can have several sets. When it is prepared, sets with the same destination are merged: a later value
/// replaces an earlier value with the same name, and the last set determines the format. A form, JSON and a property
/// list share the one body, and the kind that was added last is sent. A body that was set with ``Request/sending(_:)``
/// is not replaced: parameters for a form, JSON or a property list are then omitted, and parameters for
/// ``Destination/byMethod`` are added to the query. A multipart form sends parameters for a form or a property list as
/// fields after its own parts.
public struct ParameterSet: Sendable {
    /// The part of a request to which parameters are written.
    public struct Destination: Sendable {
        enum Kind: Sendable {
            case query(RequestParameters.Format)
            case form(RequestParameters.Format)
            case json
            case propertyList
            indirect case byMethod(RequestParameters.Format, body: Kind, queryMethods: Set<HTTPMethod>)
            case custom(@Sendable (RequestParameters, inout PreparedRequest) throws -> Void)
        }

        let kind: Kind

        /// The query, whatever the method.
        public static let query = Destination(kind: .query(.standard))

        /// Returns a destination in the query, whatever the method, written in `format`.
        public static func query(_ format: RequestParameters.Format) -> Destination {
            Destination(kind: .query(format))
        }

        /// The body, as a form.
        public static let form = Destination(kind: .form(.standard))

        /// Returns a destination in the body, as a form written in `format`.
        public static func form(_ format: RequestParameters.Format) -> Destination { Destination(kind: .form(format)) }

        /// The body, as a JSON object.
        public static let json = Destination(kind: .json)

        /// The body, as a property list in XML.
        public static let propertyList = Destination(kind: .propertyList)

        /// The query for GET, HEAD and DELETE and if there is a body of another kind; otherwise a form in the body.
        public static let byMethod = Destination.byMethod()

        /// Returns a destination in the query for some methods and if there is a body of another kind, and otherwise in
        /// the body.
        ///
        /// - Parameters:
        ///   - format: The format of the query or the form.
        ///   - body: The kind of body: ``form``, ``json`` or ``propertyList``.
        ///   - queryMethods: The methods whose parameters go to the query, compared without regard to ASCII case.
        /// - Returns: The destination.
        public static func byMethod(
            _ format: RequestParameters.Format = .standard, body: Destination = .form,
            queryMethods: Set<HTTPMethod> = [.get, .head, .delete]
        ) -> Destination {
            Destination(kind: .byMethod(format, body: body.kind, queryMethods: queryMethods))
        }

        /// Returns a destination that `apply` writes to.
        ///
        /// `apply` can change everything in the request except its authentication, which is added afterwards. Sets with
        /// this destination are not merged; each is applied, in order, after all others.
        public static func custom(
            _ apply: @escaping @Sendable (RequestParameters, inout PreparedRequest) throws -> Void
        ) -> Destination {
            Destination(kind: .custom(apply))
        }
    }

    /// The destination of the parameters.
    package let destination: Destination

    private let make: @Sendable () throws -> RequestParameters

    /// Creates a set of `parameters` for `destination`.
    public init(_ parameters: RequestParameters, in destination: Destination) {
        self.destination = destination
        make = { parameters }
    }

    /// Creates a set for `destination` with the parameters that `value` encodes to.
    ///
    /// The value is encoded each time the request is prepared.
    public init(encoding value: some Encodable & Sendable, in destination: Destination) {
        self.destination = destination
        make = { try RequestParameters(encoding: value) }
    }

    /// Returns the parameters.
    ///
    /// - Throws: ``RequestParameters/ParameterError``, or the error of an `Encodable` value.
    package func parameters() throws -> RequestParameters { try make() }
}
