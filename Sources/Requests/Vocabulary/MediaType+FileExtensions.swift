extension MediaType {
    /// Creates the usual media type for the extension of `name`, or ``binary`` if the extension is unknown.
    ///
    /// Extensions are compared without regard to ASCII case. Directories before the name are ignored.
    public init(filename name: some StringProtocol) {
        // By bytes: a slash or dot followed by a combining mark is another Character (decision 0023).
        let bytes = Array(name.utf8)
        let last = bytes.split(separator: UInt8(ascii: "/")).last ?? []
        let dot = last.lastIndex(of: UInt8(ascii: "."))
        let type = dot.flatMap { MediaType(filenameExtension: String(decoding: last[($0 + 1)...], as: UTF8.self)) }
        self = type ?? .binary
    }

    /// Creates the usual media type for an extension, written without a dot; nil if the extension is unknown.
    public init?(filenameExtension: some StringProtocol) {
        guard let text = Self.byExtension[ASCIIFolding.folded(String(filenameExtension))] else { return nil }
        self.init(text)
    }

    /// The media types by extension in lower case.
    ///
    /// Text types have no charset, because only the name of the file is known.
    private static let byExtension: [String: String] = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "apng": "image/apng", "avi": "video/x-msvideo",
        "avif": "image/avif", "bin": "application/octet-stream", "bmp": "image/bmp", "bz2": "application/x-bzip2",
        "css": "text/css", "csv": "text/csv", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip",
        "heic": "image/heic", "heif": "image/heif", "htm": "text/html", "html": "text/html",
        "ico": "image/vnd.microsoft.icon", "ics": "text/calendar", "jar": "application/java-archive",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json",
        "jsonl": "application/jsonl", "jxl": "image/jxl", "m4a": "audio/mp4", "m4v": "video/mp4",
        "md": "text/markdown", "mid": "audio/midi", "mjs": "text/javascript", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg", "oga": "audio/ogg",
        "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf", "pdf": "application/pdf",
        "plist": "application/x-plist", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "sql": "application/sql", "svg": "image/svg+xml", "tar": "application/x-tar",
        "tif": "image/tiff", "tiff": "image/tiff", "toml": "application/toml", "ttf": "font/ttf",
        "txt": "text/plain", "vcf": "text/vcard", "wasm": "application/wasm", "wav": "audio/wav",
        "weba": "audio/webm", "webm": "video/webm", "webp": "image/webp", "woff": "font/woff",
        "woff2": "font/woff2", "xhtml": "application/xhtml+xml", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]
}
