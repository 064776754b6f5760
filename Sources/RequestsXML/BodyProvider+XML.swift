extension BodyProvider {
    /// Returns a provider of a document in UTF-8 with the root element `value`.
    ///
    /// Its type is `application/xml; charset=utf-8` or another one.
    ///
    /// An element that cannot be written fails with ``/Requests/RequestError/Reason/bodyEncodingFailed`` and an
    /// underlying ``XMLValue/WritingError``; nothing is sent.
    public static func xml(_ value: XMLValue, as type: MediaType = .xml) -> BodyProvider {
        BodyProvider { header in
            let writer = XMLWriter(value)
            if let problem = writer.problem { throw problem }
            header.set(.contentType(type))
            return .bytes(Data("<?xml version=\"1.0\" encoding=\"utf-8\"?>\(writer.text)".utf8))
        }
    }
}
