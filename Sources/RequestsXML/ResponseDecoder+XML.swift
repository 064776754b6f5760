extension ResponseDecoder where Response == XMLValue {
    /// The body as XML, `application/xml` or `text/xml`: its root element with all that is in it.
    ///
    /// The document is read strictly (XML 1.0, fifth edition; Namespaces in XML 1.0), and nothing is loaded: a document
    /// type declaration is refused, and with it every entity but the five of XML itself. A document that is not
    /// well-formed is ``RequestError/Reason/notDecoded`` with ``InvalidXML`` underneath. An empty body is
    /// ``RequestError/Reason/unexpectedNoContent``. Accept other types with `accepting(_:)`: `application/rss+xml`.
    ///
    /// - Parameters:
    ///   - depth: The greatest depth of elements, at most ``XMLValue/maximumDepth``.
    ///   - limit: The greatest number of bytes that are collected.
    /// - Returns: The decoder.
    public static func xml(depth: Int = 100, limit: Int = Delivery.defaultLimit) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes, limit: limit) { head, data in
            try checked(head, data, depth: depth).root
        }
    }

    /// The body as XML: its root element with all that is in it, nested at most 100 deep.
    public static var xml: ResponseDecoder { xml() }
}

extension ResponseDecoder {
    /// What `parse` makes of the body with Foundation's event parser, whose delegate it sets and which it runs.
    ///
    /// The document has been read once by then, as `.xml` reads it, so that it is well-formed, without a document type
    /// and no deeper than `depth`. The parser loads nothing.
    ///
    /// - Parameters:
    ///   - depth: The greatest depth of elements, at most ``XMLValue/maximumDepth``; Foundation's parser on Linux has a
    ///     limit of its own, 256.
    ///   - limit: The greatest number of bytes that are collected.
    ///   - parse: Runs the parser; what it throws becomes ``RequestError/Reason/notDecoded``.
    /// - Returns: The decoder.
    public static func xml(
        depth: Int = 100, limit: Int = Delivery.defaultLimit,
        parsing parse: @escaping @Sendable (XMLParser) throws -> Response
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes, limit: limit) { head, data in
            let parser = XMLParser(data: try checked(head, data, depth: depth).data)
            parser.shouldResolveExternalEntities = false
            return try parse(parser)
        }
    }
}

#if os(macOS) || os(Linux)
extension ResponseDecoder where Response == XMLDocument {
    /// The body as Foundation's document, which iOS and its kin do not have, checked first as `.xml` checks it.
    ///
    /// - Parameters:
    ///   - options: Foundation's; whatever they say, nothing is loaded.
    ///   - depth: The greatest depth of elements, at most ``XMLValue/maximumDepth``.
    ///   - limit: The greatest number of bytes that are collected.
    /// - Returns: The decoder.
    public static func xmlDocument(
        options: XMLNode.Options = [], depth: Int = 100, limit: Int = Delivery.defaultLimit
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

/// The document in a body.
private func checked(_ head: ResponseHead, _ data: Data, depth: Int) throws -> CheckedXML {
    guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
    do throws(InvalidXML) {
        let charset = head.contentType?.parameters.first { ASCIIFolding.areEqual($0.name, "charset") }
        return try XMLReader.read(XMLText(data, charset: charset?.value), depth: depth)
    } catch {
        throw RequestError(.notDecoded, detail: "\(error)", underlying: error)
    }
}
