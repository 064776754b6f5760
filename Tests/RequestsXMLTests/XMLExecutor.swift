import RequestsXML

/// Answers every request with the same type and body.
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
    /// The root element of the body as `.xml` reads it.
    func root(depth: Int = 100) throws -> XMLValue {
        try performAndWait(AnonymousRequestProvider("https://e.com").get(.xml(depth: depth), from: "/"))
    }

    /// The error of reading the body; nil when it is read, or when the error is not one of XML.
    func problem(depth: Int = 100) -> InvalidXML? {
        do {
            _ = try root(depth: depth)
            return nil
        } catch {
            return (error as? RequestError)?.underlying as? InvalidXML
        }
    }
}
