/// The parameters of a request, merged and assigned to the destinations for its method.
///
/// It is a class, so that requests without parameters, which are most, pass only an optional reference.
final class ResolvedParameters {
    /// The parameters for the body, by the kind of body.
    enum Body {
        case form(RequestParameters, RequestParameters.Format)
        case json(RequestParameters)
        case propertyList(RequestParameters)
    }

    typealias Apply = @Sendable (RequestParameters, inout PreparedRequest) throws -> Void

    private(set) var query: (parameters: RequestParameters, format: RequestParameters.Format)?
    private(set) var body: Body?
    private(set) var custom: [(RequestParameters, Apply)] = []

    /// Resolves `sets` for a request with `method`; `own` provides a body that was set explicitly.
    ///
    /// - Throws: ``RequestParameters/ParameterError``, or the error of an `Encodable` value.
    init(_ sets: [ParameterSet], method: HTTPMethod, besides own: BodyProvider) throws {
        var hasBody = false
        if case .other = own.kind { hasBody = true }
        for set in sets { try assign(try set.parameters(), set.destination.kind, method, hasBody: hasBody) }
    }

    private func assign(
        _ parameters: RequestParameters, _ kind: ParameterSet.Destination.Kind, _ method: HTTPMethod, hasBody: Bool
    ) throws {
        switch kind {
        case .query(let format): query = (merged(query?.parameters, parameters), format)
        case .byMethod(let format, let body, let queryMethods):
            // A body that takes no parameters leaves them only the query (PM-40).
            if hasBody || queryMethods.contains(where: { ASCIIFolding.areEqual($0.rawValue, method.rawValue) }) {
                query = (merged(query?.parameters, parameters), format)
            } else if case .form = body {
                try assign(parameters, .form(format), method, hasBody: hasBody)
            } else {
                try assign(parameters, body, method, hasBody: hasBody)
            }
        case .form(let format):
            if case .form(let earlier, _) = body {
                body = .form(merged(earlier, parameters), format)
            } else {
                body = .form(parameters, format)
            }
        case .json:
            if case .json(let earlier) = body {
                body = .json(merged(earlier, parameters))
            } else {
                body = .json(parameters)
            }
        case .propertyList:
            if case .propertyList(let earlier) = body {
                body = .propertyList(merged(earlier, parameters))
            } else {
                body = .propertyList(parameters)
            }
        case .custom(let apply): custom.append((parameters, apply))
        }
    }

    private func merged(_ earlier: RequestParameters?, _ later: RequestParameters) -> RequestParameters {
        guard var merged = earlier else { return later }
        merged.merge(later)
        return merged
    }

    /// Returns the provider of the request's body; `own` provides a body that was set explicitly.
    func bodyProvider(besides own: BodyProvider) -> BodyProvider {
        switch (own.kind, body) {
        case (_, nil): own
        case (.multipart(let form), .form(let fields, let format)): .multipart(form.adding(fields: fields, format))
        case (.multipart(let form), .propertyList(let fields)): .multipart(form.adding(fields: fields, .standard))
        case (.none, .form(let parameters, let format)): .form(parameters: parameters, format: format)
        case (.none, .json(let parameters)): .json(parameters)
        case (.none, .propertyList(let parameters)): .propertyList(parameters)
        case (.multipart, .json), (.other, _): own
        }
    }
}
