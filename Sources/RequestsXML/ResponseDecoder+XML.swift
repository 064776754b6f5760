extension ResponseDecoder where Response == XMLValue {
    /// Returns a decoder of a body in XML: its root element with all its content.
    ///
    /// The standard validator accepts `application/xml`, `text/xml` and subtypes that end in `+xml`.
    ///
    /// The document is parsed strictly (XML 1.0, fifth edition; Namespaces in XML 1.0), and nothing is loaded: a
    /// document type declaration is rejected, and with it every entity except the five of XML itself. A document that
    /// is not well-formed fails with ``/Requests/RequestError/Reason/decodingFailed`` and an underlying
    /// ``XMLValue/SyntaxError``. An empty body fails with ``/Requests/RequestError/Reason/unexpectedNoContent``.
    ///
    /// - Parameters:
    ///   - depth: The maximum depth of elements, at most 512.
    ///   - limit: The maximum size of the body in bytes.
    /// - Returns: The decoder.
    public static func xml(depth: Int = 100, limit: Int = ResponseBody.Delivery.defaultLimit) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes, limit: limit) { head, data in
            try checked(head, data, depth: depth).root
        }
    }

    /// A decoder of a body in XML, nested at most 100 deep: its root element with all its content.
    public static var xml: ResponseDecoder { xml() }
}

extension ResponseDecoder {
    /// The decoder of XML, for chains such as `.xml.map { $0.name }`.
    @_disfavoredOverload  // ResponseDecoder+Chaining of Requests has the reason.
    public static var xml: ResponseDecoder<XMLValue> { .xml() }
}

extension ResponseDecoder {
    /// Returns a decoder that reads the body with Foundation's event parser.
    ///
    /// `parse` sets the parser's delegate and runs it.
    ///
    /// The document is first parsed as by `.xml`, so it is well-formed, has no document type and is at most `depth`
    /// deep. The parser loads nothing.
    ///
    /// - Parameters:
    ///   - depth: The maximum depth of elements, at most 512. Foundation's parser on Linux has
    ///     its own limit of 256.
    ///   - limit: The maximum size of the body in bytes.
    ///   - parse: A function that runs the parser and returns the value. An error that it throws becomes
    ///     ``/Requests/RequestError/Reason/decodingFailed``.
    /// - Returns: The decoder.
    public static func xml(
        depth: Int = 100, limit: Int = ResponseBody.Delivery.defaultLimit,
        parsing parse: @escaping @Sendable (XMLParser) throws -> Response
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes, limit: limit) { head, data in
            let parser = XMLParser(data: try checked(head, data, depth: depth).data)
            // A checked document has no external entities; this also rules them out in Foundation's parser.
            parser.shouldResolveExternalEntities = false
            return try parse(parser)
        }
    }
}

#if os(macOS) || os(Linux)
extension ResponseDecoder where Response == XMLDocument {
    /// Returns a decoder that reads the body as Foundation's document, checked first as by `.xml`.
    ///
    /// It is not available on iOS, tvOS, watchOS and visionOS.
    ///
    /// - Parameters:
    ///   - options: Foundation's options. Nothing is loaded, whatever they are.
    ///   - depth: The maximum depth of elements, at most 512.
    ///   - limit: The maximum size of the body in bytes.
    /// - Returns: The decoder.
    public static func xmlDocument(
        options: XMLNode.Options = [], depth: Int = 100, limit: Int = ResponseBody.Delivery.defaultLimit
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes, limit: limit) { head, data in
            let document = try checked(head, data, depth: depth)
            let loading: XMLNode.Options = [
                .nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly, .documentXInclude,
            ]
            return try XMLDocument(
                data: document.data, options: options.subtracting(loading).union(.nodeLoadExternalEntitiesNever))
        }
    }
}
#endif

private let xmlTypes: [MediaType] = [
    MediaType(type: .application, subtype: "xml"), MediaType(type: .text, subtype: "xml"),
]

/// Returns the checked document in a body.
private func checked(_ head: ResponseHead, _ data: Data, depth: Int) throws -> CheckedXML {
    guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
    do throws(XMLValue.SyntaxError) {
        return try XMLReader.read(XMLText(data, charset: head.contentType?.parameters["charset"]), depth: depth)
    } catch {
        throw RequestError(.decodingFailed, detail: "\(error)", underlying: error)
    }
}
