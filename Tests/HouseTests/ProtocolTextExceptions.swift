extension ProtocolTextTests {
    /// The findings that are right where they are, each with its reason.
    static let exceptions: [Exception] = [
        Exception(
            "Requests/Vocabulary/ByteText", "utf8.count == other.utf8.count",
            "These are counts and views of bytes, not strings."),
        Exception(
            "Requests/Vocabulary/HTTPMethod", "left.rawValue == right.rawValue",
            "The counts are equal, and text outside ASCII that is equivalent to a token has more bytes."),
        Exception(
            "Requests/Vocabulary/TargetURI", "host == other.host",
            "Scheme, host and zone are ASCII once a target has been read."),
        Exception(
            "Requests/Vocabulary/TargetURI", "left.host == right.host",
            "Scheme and host are ASCII once a target has been read."),
        Exception(
            "Requests/Vocabulary/Fields/UserAgent", "name.wholeMatch",
            "The name of a scalar comes from the Unicode tables and is ASCII."),
        Exception("Requests/Vocabulary/Fields/UserAgent", "scalar == \"ß\"", "A scalar is compared with a scalar."),
        Exception("Requests/Execution/Pages", "$0.name == name", "Both names are the app's own and not from outside."),
        Exception("Requests/Execution/Pages", "$0.name != name", "Both names are the app's own and not from outside."),
        Exception(
            "RequestsFoundation/RequestError+Foundation", "RequestError.errorDomain",
            "An error domain is compared with a constant of ours."),
        Exception(
            "RequestsHTTP1/FramingFields", "contains(\"close\")",
            "TokenList's own function compares tokens by their bytes."),
        Exception(
            "RequestsHTTP1/FramingFields", "contains(\"keep-alive\")",
            "TokenList's own function compares tokens by their bytes."),
        Exception("RequestsPOSIX/ProcessUsage", "text.prefix(count)", "The kernel writes this text in ASCII."),
        Exception("RequestsPOSIX/ProcessUsage", "VmHWM:", "The kernel writes this text in ASCII."),
        Exception(
            "RequestsSocket/Origin", "left.socketPath == right.socketPath",
            "All origins of an executor have the one path of its configuration."),
        Exception(
            "Requests/Description/Bodies/InvalidBody", "enum InvalidBody",
            "An error of ours; the scheme in it is ASCII."),
        Exception(
            "Requests/Description/Multipart/MultipartBoundary", "struct MultipartStyle",
            "The prefix of a boundary is ASCII, or the boundary is refused."),
        Exception(
            "Requests/Exchange/JSONLocator", "enum Step",
            "Names are matched by bytes; only tests compare steps."),
        Exception("Requests/Exchange/RawResponse", "struct Metrics", "It holds measurements and an address in ASCII."),
        Exception(
            "Requests/Vocabulary/Fields/UserAgent", "struct UserAgent",
            "A description of the app that is written and never compared."),
        Exception(
            "Requests/Vocabulary/Parameters/ParameterFormat", "enum ArrayStyle",
            "The separator is the app's own choice of a style."),
        Exception(
            "Requests/Vocabulary/Parameters/ParameterValue", "enum ParameterValue",
            "A description of the app's values; PreparedRequest compares what is sent."),
        Exception(
            "Requests/Vocabulary/Parameters/RequestParameters", "struct RequestParameters",
            "A description of the app's values; PreparedRequest compares what is sent."),
        Exception(
            "RequestsHTTP1/StartLine", "struct RequestLine",
            "The target is visible ASCII, or the line is refused."),
        Exception(
            "RequestsMiddleware/Decoding/ContentCodingError", "struct ContentCodingError",
            "An error of ours that only people read."),
        Exception(
            "RequestsMiddleware/Decoding/ContentCodingError", "enum Problem",
            "An error of ours that only people read."),
        Exception(
            "RequestsPOSIX/Codings/ContentCoding", "struct CodingFault",
            "An error of ours that only people read."),
        Exception("RequestsPOSIX/FileReader", "enum FileError", "An error of ours that only people read."),
        Exception("RequestsPOSIX/Resolver", "enum ResolverError", "An error of ours that only people read."),
        Exception(
            "RequestsPOSIX/SystemError", "struct StaticOperation",
            "The name of a system call, which is a literal."),
        Exception("RequestsSocket/SocketExecutor+Proxy", "struct Proxy", "A configuration of the app, read by bytes."),
        Exception(
            "RequestsSocket/SocketExecutor+Proxy", "struct Authorization",
            "A configuration of the app, read by bytes."),
        Exception("RequestsSocket/SocketExecutor", "enum Destination", "A configuration of the app, read by bytes."),
        Exception("RequestsTestServer/TestServer", "enum Address", "A configuration of the app, read by bytes."),
        Exception(
            "Requests/Vocabulary/Fields/CacheControl", "bare.contains(\"max-stale\")",
            "A literal in a set of names that are tokens."),
        Exception(
            "Requests/Vocabulary/Fields/SafeFilename", "for character in name[..<dot]",
            "A name for people is cut between what they see as characters; no delimiter is looked for."),
        Exception("Requests/Vocabulary/Fields/SafeFilename", "$0 == \".\"", "A scalar is compared with a scalar."),
        Exception(
            "Requests/Vocabulary/Fields/SafeFilename", "properties.isWhitespace",
            "It is the property of a scalar, not of a character."),
        Exception(
            "Requests/Description/Decoders/EventStreamParser", "struct ServerSentEvent",
            "Text for the app; the package compares no events."),
        Exception(
            "Requests/Exchange/RequestError+Payload", "struct ErrorMessage",
            "Text for people; the package does not compare it."),
        Exception(
            "Requests/Exchange/RequestError+Payload", "struct ProblemDetails",
            "Text for the app; the package does not compare it."),
        Exception(
            "Requests/Vocabulary/JSONValue", "enum Step", "A path that the app writes; names are found by bytes."),
        Exception("RequestsXML/InvalidXML", "enum InvalidXML", "An error of ours that only people read."),
        Exception("RequestsXML/XMLNamespaces", "ExactString", "ExactString compares its scalars."),
        Exception("RequestsXML/XMLValue", "escaped +=", "A scalar is compared with a scalar."),
    ]
}
