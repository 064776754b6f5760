import RequestsXML

/// An executor whose responses all have the same content type and body.
struct XMLExecutor: RequestExecutor {
    let type: String?
    let body: Data

    init(_ body: some Collection<UInt8>, type: String? = "application/xml") {
        self.type = type
        self.body = Data(body)
    }

    init(_ body: String, type: String? = "application/xml") {
        self.init(body.utf8, type: type)
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let header = Header(type.map { [Field(name: .contentType, value: $0)] } ?? [])
        return RawResponse(
            head: ResponseHead(status: body.isEmpty ? 204 : 200, header: header, target: request.target),
            body: .bytes(body))
    }
}

extension XMLExecutor {
    /// Returns the root element of the body, decoded by `.xml`.
    func root(depth: Int = 100) throws -> XMLValue {
        try performAndWait(AnonymousRequestProvider("https://e.com").get(.xml(depth: depth), from: "/"))
    }

    /// Returns the syntax error of the body, or nil if there is none or the error is another.
    func problem(depth: Int = 100) -> XMLValue.SyntaxError? {
        do {
            _ = try root(depth: depth)
            return nil
        } catch {
            return (error as? RequestError)?.underlying as? XMLValue.SyntaxError
        }
    }
}
