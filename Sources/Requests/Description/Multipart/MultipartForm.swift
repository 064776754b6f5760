/// A multipart form (RFC 7578): its parts, boundary and style.
///
/// Create one with ``BodyProvider/multipart(_:fields:format:boundary:style:)``. The form contains the fields first,
/// then the parts, then the fields that are added later.
public struct MultipartForm: Sendable {
    var parts: [Part]
    var fields: RequestParameters
    var format: RequestParameters.Format
    var boundary: Boundary
    var style: Style
    private var laterFields: [(RequestParameters, RequestParameters.Format)] = []

    init(
        _ parts: [Part], fields: RequestParameters, format: RequestParameters.Format, boundary: Boundary,
        style: Style
    ) {
        self.parts = parts
        self.fields = fields
        self.format = format
        self.boundary = boundary
        self.style = style
    }

    /// Returns this form with `fields` added after its parts.
    func adding(fields: RequestParameters, _ format: RequestParameters.Format) -> MultipartForm {
        var copy = self
        copy.laterFields.append((fields, format))
        return copy
    }

    /// Returns the body and sets the content type.
    ///
    /// An empty form that its style does not send has no body, and its content type is not set.
    func body(updating header: inout Header) throws -> RequestBody {
        let all = try allParts()
        if all.isEmpty, !style.sendsEmptyForms { return .none }
        let (boundary, layout) = try layout(of: all)
        header.set(.contentType(.formData(boundary: boundary)))
        if case .bytes(let only)? = layout.pieces.first, layout.pieces.count == 1 { return .bytes(only) }
        let style = style
        return .stream(length: layout.length, isReplayable: layout.isReplayable) {
            MultipartSource(layout.pieces, boundary: boundary, style: style)
        }
    }

    /// Returns the fields and the parts as parts, in the order in which they are sent.
    func allParts() throws -> [Part] {
        try laterFields.reduce(into: Self.parts(of: fields, format) + parts) { parts, later in
            parts += try Self.parts(of: later.0, later.1)
        }
    }

    /// Returns a boundary and the layout of `parts`.
    ///
    /// The boundary does not occur in content that is in memory: a generated boundary that does occur is generated
    /// again.
    private func layout(of parts: [Part]) throws -> (String, MultipartLayout) {
        // A limit, because a function that always generates the same boundary would never succeed.
        for _ in 0..<(boundary.isGenerated ? 8 : 1) {
            let text = try boundary.drawn(prefix: style.boundaryPrefix)
            let delimiter = BoundarySearch(text)
            guard !parts.contains(where: { $0.contains(delimiter) }) else { continue }
            var layout = MultipartLayout(boundary: text, style: style)
            for part in parts { try layout.append(part) }
            layout.close()
            return (text, layout)
        }
        throw BodyProvider.BodyError.boundaryInContent
    }

    /// Returns the flattened parameters as text parts; data stays binary, and null is an empty text.
    private static func parts(of fields: RequestParameters, _ format: RequestParameters.Format) throws -> [Part] {
        try format.scalars(of: fields).map { name, value in
            if case .data(let data) = value.content { return .data(data, name: name) }
            return .text(try format.text(of: value) ?? "", name: name)
        }
    }
}

extension BodyProvider {
    /// Returns a provider of a multipart form, `multipart/form-data` (RFC 7578).
    ///
    /// The form contains the `fields` as text parts and then `parts` in their order. Content-Length is exact unless the
    /// form has deferred parts or streams of unknown length; files are measured when the request is prepared. Parts are
    /// not copied into one buffer: files and streams are read while they are sent, and large contents are sent as they
    /// are. A form with only small contents is sent from one buffer.
    ///
    /// A random boundary that occurs in content in memory is generated again. The content of files and streams is not
    /// searched; there the 128 random bits must suffice. For a fixed boundary that occurs in content,
    /// preparing the request fails with ``BodyProvider/BodyError/boundaryInContent`` as the underlying error.
    ///
    /// - Parameters:
    ///   - parts: The parts.
    ///   - fields: The parameters that precede the parts, each scalar as a text part.
    ///   - format: The names of nested fields and the text of their values.
    ///   - boundary: The boundary; random unless a test sets it.
    ///   - style: The style, for the differences between HTTP clients.
    /// - Returns: The provider.
    public static func multipart(
        _ parts: [MultipartForm.Part], fields: RequestParameters = .empty, format: RequestParameters.Format = .standard,
        boundary: MultipartForm.Boundary = .random, style: MultipartForm.Style = .standard
    ) -> BodyProvider {
        multipart(MultipartForm(parts, fields: fields, format: format, boundary: boundary, style: style))
    }

    static func multipart(_ form: MultipartForm) -> BodyProvider {
        BodyProvider(kind: .multipart(form)) { header, _ in try form.body(updating: &header) }
    }
}
