import RequestsHTTP2

/// Fields that are valid, and fields that make a message malformed, in both roles (RFC 9113 §8.2).
enum FieldTable {
    static let valid: [(name: String, field: (String, String))] = [
        ("a field", ("a", "b")),
        ("an empty value", ("a", "")),
        ("a space within a value", ("a", "b c")),
        ("a value outside ASCII", ("a", "ü")),
        ("every token character", ("!#$%&'*+-.^_`|~09az", "b")),
        ("te: trailers", ("te", "trailers")),
    ]

    static let malformed: [(name: String, field: (String, String), violation: HTTP2Violation)] = [
        ("an upper-case name", ("Server", "b"), .fieldName),
        ("an upper-case letter in a name", ("servEr", "b"), .fieldName),
        ("an empty name", ("", "b"), .fieldName),
        ("a space in a name", ("a b", "c"), .fieldName),
        ("a space after a name", ("a ", "c"), .fieldName),
        ("a colon in a name", ("a:b", "c"), .fieldName),
        ("a name outside ASCII", ("ä", "c"), .fieldName),
        ("DEL in a name", ("a\u{7F}", "c"), .fieldName),
        ("NUL in a name", ("a\0", "c"), .fieldName),
        ("CR and LF in a name", ("a\r\nb", "c"), .fieldName),
        ("CR in a value", ("a", "b\rc"), .fieldValue),
        ("LF in a value", ("a", "b\nc"), .fieldValue),
        ("CR and LF in a long value", ("a", "0123456789\r\nb: 0123456789"), .fieldValue),
        ("NUL in a value", ("a", "b\0c"), .fieldValue),
        ("a space before a value", ("a", " b"), .fieldValue),
        ("a tab before a value", ("a", "\tb"), .fieldValue),
        ("a space after a value", ("a", "b "), .fieldValue),
        ("a tab after a value", ("a", "b\t"), .fieldValue),
        ("a space as a value", ("a", " "), .fieldValue),
        ("connection", ("connection", "close"), .connectionField),
        ("keep-alive", ("keep-alive", "timeout=5"), .connectionField),
        ("proxy-connection", ("proxy-connection", "close"), .connectionField),
        ("transfer-encoding", ("transfer-encoding", "chunked"), .connectionField),
        ("upgrade", ("upgrade", "h2c"), .connectionField),
        ("te: gzip", ("te", "gzip"), .connectionField),
        ("te: trailers and gzip", ("te", "trailers, gzip"), .connectionField),
        ("an empty te", ("te", ""), .connectionField),
    ]
}
