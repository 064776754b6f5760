/// The bytes of an image in a known format.
///
/// Only the first bytes are checked; decoding the image is left to the platform.
public struct ImageBytes: Hashable, Sendable {
    /// An image format.
    @nonexhaustive
    public enum Format: String, Hashable, Sendable, CaseIterable {
        /// PNG.
        case png
        /// JPEG.
        case jpeg
        /// GIF.
        case gif
        /// TIFF.
        case tiff
        /// Windows bitmap.
        case bmp
        /// Windows icon.
        case icon
        /// X bitmap, which is text.
        case xBitmap
        /// WebP.
        case webp
        /// AVIF.
        case avif
        /// HEIC.
        case heic
    }

    /// The format that the first bytes identify.
    public let format: Format

    /// The bytes of the image.
    public let data: Data

    /// Creates an image from `data`; nil when its first bytes do not identify a known format.
    public init?(_ data: Data) {
        guard let format = Self.format(of: Array(data.prefix(16))) else { return nil }
        self.format = format
        self.data = data
    }

    /// The media types of images that the decoder requests and accepts.
    public static let mediaTypes: [MediaType] = [
        "png", "jpeg", "gif", "tiff", "webp", "avif", "heic", "heif", "x-icon", "vnd.microsoft.icon", "ico", "bmp",
        "x-bmp", "x-ms-bmp", "x-win-bitmap", "x-xbitmap",
    ].map { MediaType(type: .image, subtype: MediaType.Subtype($0)) }

    // The signatures of the formats; RIFF and ISO media files name theirs after the first 8 bytes.
    private static func format(of bytes: [UInt8]) -> Format? {
        func begins(_ magic: [UInt8]) -> Bool { bytes.starts(with: magic) }
        func begins(_ text: String) -> Bool { bytes.starts(with: text.utf8) }
        if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if begins([0xFF, 0xD8, 0xFF]) { return .jpeg }
        if begins("GIF87a") || begins("GIF89a") { return .gif }
        if begins([0x49, 0x49, 0x2A, 0x00]) || begins([0x4D, 0x4D, 0x00, 0x2A]) { return .tiff }
        if begins("BM") { return .bmp }
        if begins([0x00, 0x00, 0x01, 0x00]) || begins([0x00, 0x00, 0x02, 0x00]) { return .icon }
        if begins("#define") { return .xBitmap }
        if begins("RIFF"), bytes.dropFirst(8).starts(with: "WEBP".utf8) { return .webp }
        guard bytes.dropFirst(4).starts(with: "ftyp".utf8) else { return nil }
        switch String(decoding: bytes.dropFirst(8).prefix(4), as: UTF8.self) {
        case "avif", "avis": return .avif
        case "heic", "heix", "hevc", "hevx", "mif1", "msf1": return .heic
        default: return nil
        }
    }
}

extension ResponseDecoder where Response == ImageBytes {
    /// A decoder that returns the body as the bytes of an image.
    ///
    /// If the response has a content type, the standard validator requires one of ``ImageBytes/mediaTypes``. The first
    /// bytes determine the format, whatever the content type is. An empty body fails with
    /// ``RequestError/Reason/unexpectedNoContent``, and bytes of an unknown format fail with
    /// ``RequestError/Reason/decodingFailed``.
    public static let image = ResponseDecoder(accepting: ImageBytes.mediaTypes) { _, data in
        guard !data.isEmpty else { throw RequestError(.unexpectedNoContent) }
        guard let image = ImageBytes(data) else {
            throw RequestError(.decodingFailed, detail: "unrecognized image format")
        }
        return image
    }
}
