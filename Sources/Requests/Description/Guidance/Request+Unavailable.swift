extension Request {
    /// Unavailable, because a body needs an encoding.
    @available(*, unavailable, message: "the body needs an encoding, as in request.sending(.json(value))")
    @_disfavoredOverload
    public consuming func sending(_ value: some Encodable) -> Self { self }

    /// Unavailable, because a header field is a ``Field``.
    @available(
        *, unavailable,
        message: "a header field is a Field, as in request.adding(headerField: Field(name: \"X\", value: \"y\"))"
    )
    @_disfavoredOverload
    public consuming func adding(headerField: (String, String)) -> Self { self }

    /// Unavailable, because a header field is a ``Field``.
    @available(
        *, unavailable,
        message: "a header field is a Field, as in request.setting(headerField: Field(name: \"X\", value: \"y\"))"
    )
    @_disfavoredOverload
    public consuming func setting(headerField: (String, String)) -> Self { self }

    /// Unavailable, because credentials need a scheme.
    @available(
        *, unavailable,
        message: "credentials need a scheme: .bearerToken(token) or .basicAuth(username: name, password: password)"
    )
    @_disfavoredOverload
    public consuming func authenticated(with credentials: String) -> Self { self }

    /// Unavailable; use `timeout(after:)`, which accepts a `Duration` or a number of seconds.
    @available(*, unavailable, renamed: "timeout(after:)")
    @_disfavoredOverload
    public consuming func timeout(_ duration: Duration) -> Self { self }

    /// Unavailable; use `timeout(after:)`, which accepts a `Duration` or a number of seconds.
    @available(*, unavailable, renamed: "timeout(after:)")
    @_disfavoredOverload
    public consuming func timeout(_ seconds: Double) -> Self { self }
}

extension AuthenticationProvider {
    /// Unavailable; use `bearerToken(_:)`.
    @available(*, unavailable, renamed: "bearerToken(_:)")
    public static func bearer(_ token: String) -> AuthenticationProvider { .none }

    /// Unavailable; use `basicAuth(username:password:)`.
    @available(*, unavailable, renamed: "basicAuth(username:password:)")
    public static func basic(username: String, password: String) -> AuthenticationProvider { .none }
}
