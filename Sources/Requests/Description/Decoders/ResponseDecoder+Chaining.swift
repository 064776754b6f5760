// A chain such as `.text.map { … }` must begin with a member of the type with which it ends, which has another value.
// Without these members, the compiler fails to produce an error. Alone, `.text` is the decoder of the same name.

extension ResponseDecoder {
    /// The decoder of text, for chains such as `.text.map { Int($0) }`.
    @_disfavoredOverload
    public static var text: ResponseDecoder<String> { .text }

    /// The decoder of bytes, for chains such as `.data.map { $0.count }`.
    @_disfavoredOverload
    public static var data: ResponseDecoder<Data> { .data }

    /// The decoder of any JSON, for chains such as `.jsonValue.map { $0["id"] }`.
    @_disfavoredOverload
    public static var jsonValue: ResponseDecoder<JSONValue> { .jsonValue }

    /// Returns the decoder of a type in JSON, for chains such as `.json(Page.self).map { $0.items }`.
    @_disfavoredOverload
    public static func json<Value: Decodable & SendableMetatype>(_ type: Value.Type) -> ResponseDecoder<Value> {
        .json()
    }
}
