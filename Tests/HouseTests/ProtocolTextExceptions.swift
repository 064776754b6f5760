extension ProtocolTextTests {
    /// The findings that are allowed, each with its reason.
    static let exceptions: [Exception] = [
        Exception(
            "Requests/Vocabulary/Punycode", "label.lowercased()",
            "The rules of a list are Unicode names, whose case is mapped before they are encoded."),
        Exception(
            "Requests/Vocabulary/ByteText", "utf8.count == other.utf8.count",
            "Both sides are counts of bytes, not strings."),
        Exception(
            "Requests/Vocabulary/HTTPMethod", "left.rawValue == right.rawValue",
            "The byte counts are equal, and non-ASCII text that is equivalent to a token has more bytes."),
        Exception(
            "Requests/Vocabulary/HTTPMethod+Registry", "case \"",
            "The patterns are methods, which are compared byte by byte."),
        Exception(
            "Requests/Vocabulary/TargetURI", "host == other.host",
            "The scheme, host and zone of a parsed target are ASCII."),
        Exception(
            "Requests/Vocabulary/TargetURI", "left.host == right.host",
            "The scheme and host of a parsed target are ASCII."),
        Exception(
            "Requests/Vocabulary/TLS/CertificateName", "struct CertificateName",
            "A name or an address is ASCII; any other text is refused."),
        Exception(
            "Requests/Vocabulary/Fields/UserAgent", "name.wholeMatch",
            "The Unicode name of a scalar is ASCII."),
        Exception(
            "Requests/Vocabulary/Fields/UserAgent", "scalar == \"ß\"", "The operands are scalars, not characters."),
        Exception("Requests/Execution/Pages", "$0.name == name", "Both names are from the app, not from a peer."),
        Exception("Requests/Execution/Pages", "$0.name != name", "Both names are from the app, not from a peer."),
        Exception(
            "RequestsFoundation/RequestError+Foundation", "RequestError.errorDomain",
            "An error domain is compared with a constant of this package."),
        Exception("RequestsPOSIX/ProcessUsage", "text.prefix(count)", "The kernel writes this text in ASCII."),
        Exception("RequestsPOSIX/ProcessUsage", "VmHWM:", "The kernel writes this text in ASCII."),
        Exception(
            "RequestsSocket/Connecting/Origin", "left.socketPath == right.socketPath",
            "All origins of an executor have the same path, from its configuration."),
        Exception(
            "Requests/Description/Bodies/BodyProvider+BodyError", "enum BodyError",
            "An error of this package; its scheme is ASCII."),
        Exception(
            "Requests/Description/Multipart/MultipartForm+Boundary", "struct Style",
            "The prefix of a boundary is ASCII; any other is rejected."),
        Exception(
            "RequestsMiddleware/Credentials/OAuth/OAuthFailure", "enum Failure",
            "An error for people; its code compares bytes."),
        Exception(
            "RequestsMiddleware/Credentials/OAuth/OAuthFailure", "struct Refusal",
            "An error for people; its code compares bytes."),
        Exception(
            "Requests/Exchange/JSONLocator", "enum PathComponent",
            "Names are matched by bytes; only tests compare components."),
        Exception(
            "Requests/Exchange/RawResponse", "struct ExtraValues",
            "The type contains measurements, a field value and a message."),
        Exception(
            "Requests/Vocabulary/Fields/UserAgent", "struct UserAgent",
            "A description of the app, which is written and never compared."),
        Exception(
            "Requests/Vocabulary/Parameters/RequestParameters+Format", "enum ArrayStyle",
            "The separator is chosen by the app."),
        Exception(
            "Requests/Vocabulary/Parameters/RequestParameters+Value", "enum Content",
            "A description of the app's values; PreparedRequest compares the bytes that are sent."),
        Exception(
            "Requests/Vocabulary/Parameters/RequestParameters", "struct RequestParameters",
            "A description of the app's values; PreparedRequest compares the bytes that are sent."),
        Exception(
            "RequestsHTTP1/StartLine", "struct RequestLine",
            "The target is visible ASCII; any other line is rejected."),
        Exception(
            "RequestsMiddleware/Decoding/ContentCodingError", "struct ContentCodingError",
            "An error of this package, for people to read."),
        Exception(
            "RequestsMiddleware/Decoding/ContentCodingError", "enum Problem",
            "An error of this package, for people to read."),
        Exception(
            "RequestsPOSIX/Codings/ContentCoding", "struct CodingFault",
            "An error of this package, for people to read."),
        Exception("RequestsPOSIX/FileReader", "enum FileError", "An error of this package, for people to read."),
        Exception("RequestsPOSIX/Resolver", "enum ResolverError", "An error of this package, for people to read."),
        Exception(
            "RequestsPOSIX/SystemError", "struct StaticOperation",
            "The name of a system call is a literal."),
        Exception("RequestsSocket/SocketExecutor+Proxy", "struct Proxy", "A configuration by the app, read as bytes."),
        Exception(
            "RequestsSocket/SocketExecutor+Destination", "enum Destination",
            "A configuration by the app, read as bytes."),
        Exception("RequestsTestServer/TestServer", "enum Address", "A configuration by the app, read as bytes."),
        Exception(
            "Requests/Vocabulary/Fields/SafeFilename", "for character in name[..<dot]",
            "The name is shortened between visible characters; no delimiter is searched."),
        Exception(
            "Requests/Vocabulary/Fields/SafeFilename", "$0 == \".\"", "The operands are scalars, not characters."),
        Exception(
            "Requests/Vocabulary/Fields/SafeFilename", "properties.isWhitespace",
            "The property belongs to a scalar, not to a character."),
        Exception(
            "Requests/Description/Decoders/ServerSentEvent+Parser", "struct ServerSentEvent",
            "Text for the app; the package does not compare events."),
        Exception(
            "Requests/Exchange/RequestError+Message", "struct Message",
            "Text for people; the package does not compare it."),
        Exception(
            "Requests/Exchange/RequestError+Payload", "struct ProblemDetails",
            "Text for the app; the package does not compare it."),
        Exception(
            "Requests/Vocabulary/JSONValue", "enum PathComponent",
            "A path that the app writes; names are matched by bytes."),
        Exception(
            "RequestsXML/XMLValue+SyntaxError", "enum SyntaxError", "An error of this package, for people to read."),
        Exception(
            "RequestsXML/XMLValue+WritingError", "enum WritingError", "An error of this package, for people to read."),
        Exception(
            "RequestsMock/Recording/HARArchive", "struct Entry", "Text for the app; the package does not compare it."),
        Exception(
            "RequestsMock/Recording/HARArchive", "struct Content",
            "Text for the app; the package does not compare it."),
        Exception(
            "RequestsMock/Recording/HARArchive", "struct HARError", "An error of this package, for people to read."),
        Exception(
            "RequestsTestServer/Multipart/MultipartReader", "enum MultipartError",
            "An error of this package; its text does not come from a peer."),
        Exception("RequestsXML/XMLNamespaces", "ExactString", "ExactString compares its scalars."),
        Exception("RequestsXML/XMLValue", "escaped +=", "The operands are scalars, not characters."),
    ]
}
