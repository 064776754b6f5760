extension MediaType {
    /// The media range of all types, `*/*`.
    public static var any: MediaType { MediaType(type: .any, subtype: .any) }
    /// The media type `application/octet-stream`.
    public static var binary: MediaType { MediaType(type: .application, subtype: .octetStream) }
    /// The media type `text/css; charset=utf-8`.
    public static let css = MediaType(type: .text, subtype: .css, parameters: utf8)
    /// The media type `image/gif`.
    public static var gif: MediaType { MediaType(type: .image, subtype: .gif) }
    /// The media type `text/html; charset=utf-8`.
    public static let html = MediaType(type: .text, subtype: .html, parameters: utf8)
    /// The media type `image/jpeg`.
    public static var jpeg: MediaType { MediaType(type: .image, subtype: .jpeg) }
    /// The media type `application/json`, for which RFC 8259 §11 defines no charset.
    public static var json: MediaType { MediaType(type: .application, subtype: .json) }
    /// The media type `application/json; charset=utf-8`, for servers that require the parameter.
    public static let jsonUTF8 = MediaType(type: .application, subtype: .json, parameters: utf8)
    /// The media type `text/plain; charset=utf-8`.
    public static let plainText = MediaType(type: .text, subtype: .plain, parameters: utf8)
    /// The media type `image/png`.
    public static var png: MediaType { MediaType(type: .image, subtype: .png) }
    /// The media type `image/svg+xml`.
    public static var svg: MediaType { MediaType(type: .image, subtype: .svg) }
    /// The media type `application/x-www-form-urlencoded; charset=utf-8`.
    public static let urlEncodedForm = MediaType(type: .application, subtype: .urlEncodedForm, parameters: utf8)
    /// The media type `application/xml; charset=utf-8`.
    public static let xml = MediaType(type: .application, subtype: .xml, parameters: utf8)

    /// Returns the media type `multipart/form-data` with `boundary` (RFC 7578).
    public static func formData(boundary: String) -> MediaType {
        MediaType(type: .multipart, subtype: .formData, parameters: ["boundary": boundary])
    }

    private static let utf8: FieldParameters = ["charset": "utf-8"]
}
