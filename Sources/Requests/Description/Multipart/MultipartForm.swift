/// A multipart form as it is described: fields, then parts, then fields that were added later.
struct MultipartForm: Sendable {
    var parts: [MultipartPart]
    var fields: RequestParameters
    var format: ParameterFormat
    var boundary: MultipartBoundary
    var style: MultipartStyle
    private var laterFields: [(RequestParameters, ParameterFormat)] = []

    init(
        _ parts: [MultipartPart], fields: RequestParameters, format: ParameterFormat, boundary: MultipartBoundary,
        style: MultipartStyle
    ) {
        self.parts = parts
        self.fields = fields
        self.format = format
        self.boundary = boundary
        self.style = style
    }

    func adding(fields: RequestParameters, _ format: ParameterFormat) -> MultipartForm {
        var copy = self
        copy.laterFields.append((fields, format))
        return copy
    }

    /// The body, and the content type that names its boundary; neither for an empty form of a style that sends none.
    func body(updating header: inout Header) throws -> RequestBody {
        let all = try laterFields.reduce(Self.parts(of: fields, format) + parts) { parts, later in
            parts + (try Self.parts(of: later.0, later.1))
        }
        if all.isEmpty, !style.sendsEmptyForms { return .none }
        let (boundary, layout) = try layout(of: all)
        header.set(.contentType(.formData(boundary: boundary)))
        if case .bytes(let only)? = layout.pieces.first, layout.pieces.count == 1 { return .bytes(only) }
        let style = style
        return .stream(length: layout.length, replayable: layout.isReplayable) {
            MultipartSource(layout.pieces, boundary: boundary, style: style)
        }
    }

    /// Lays the parts out around a boundary that no content in memory holds; a random one is drawn again if need be.
    private func layout(of parts: [MultipartPart]) throws -> (String, MultipartLayout) {
        for _ in 0..<(boundary.isDrawn ? 8 : 1) {
            let text = try boundary.drawn(prefix: style.boundaryPrefix)
            let delimiter = BoundarySearch(text)
            guard !parts.contains(where: { $0.holds(delimiter) }) else { continue }
            var layout = MultipartLayout(boundary: text, style: style)
            for part in parts { try layout.append(part) }
            layout.close()
            return (text, layout)
        }
        throw InvalidBody.boundaryInContent
    }

    /// Flat parameters as text parts; bytes stay bytes, null is empty.
    private static func parts(of fields: RequestParameters, _ format: ParameterFormat) throws -> [MultipartPart] {
        try format.scalars(of: fields).map { name, value in
            if case .data(let data) = value { return .data(data, name: name) }
            return .text(try format.text(of: value) ?? "", name: name)
        }
    }
}

extension BodyProvider {
    /// A multipart form, `multipart/form-data` (RFC 7578): the `fields` as text parts, then `parts` in their order.
    ///
    /// Content-Length is exact whenever every length is known, which it is without deferred parts and open-ended streams;
    /// a file is measured when the request is prepared. Parts are never copied into one buffer: files and streams are
    /// read while they are sent, large bytes go out as they are. A form of nothing but small bytes is sent as bytes.
    ///
    /// A random boundary that the content in memory holds is drawn again; of files and streams the content is not
    /// searched, there 128 random bits must do. A fixed boundary that the content holds is refused.
    ///
    /// - Parameters:
    ///   - parts: The parts.
    ///   - fields: Parameters that come before the parts, each scalar as a text part.
    ///   - format: How nested fields are named and what they read.
    ///   - boundary: The boundary; random unless a test fixes it.
    ///   - style: What other systems do differently.
    /// - Returns: The provider.
    public static func multipart(
        _ parts: [MultipartPart], fields: RequestParameters = .empty, format: ParameterFormat = .standard,
        boundary: MultipartBoundary = .random, style: MultipartStyle = .standard
    ) -> BodyProvider {
        multipart(MultipartForm(parts, fields: fields, format: format, boundary: boundary, style: style))
    }

    static func multipart(_ form: MultipartForm) -> BodyProvider {
        BodyProvider(kind: .multipart(form)) { header in try form.body(updating: &header) }
    }
}
