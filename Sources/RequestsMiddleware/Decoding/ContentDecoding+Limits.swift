internal import RequestsPOSIX

extension ContentDecoding {
    /// The limits on decoded bodies.
    ///
    /// A body over a size limit fails with ``/Requests/RequestError/Reason/tooLarge(limit:)``, and nothing more of it
    /// is read.
    public struct Limits: Hashable, Sendable {
        /// The maximum size of a decoded body in bytes; the default is 16 GiB.
        ///
        /// A collected body also has the limit of its ``/Requests/ResponseBody/Delivery/collected(limit:)``, which
        /// counts decoded bytes. Before decoding, such a body may have twice as many bytes as that limit, and always 16
        /// MiB.
        public var bodySize = 16 << 30

        /// The maximum ratio of decoded to encoded bytes; the default is 256.
        ///
        /// The ratio applies from 16 MiB of decoded bytes on, because a short body of nothing but zeros is not an
        /// attack. Text expands 5 to 20 times; gzip can expand 1,032 times, Brotli and Zstandard far more.
        public var ratio = 256

        /// The maximum number of codings, one applied to another; the default is 5.
        ///
        /// More codings fail with ``/Requests/RequestError/Reason/protocolViolation``.
        public var codings = ContentCodingList.maximumCount

        /// Creates the default limits.
        public init() {}

        /// Returns the maximum size of a body before decoding, in bytes, if `limit` decoded bytes of it are collected.
        ///
        /// No coding makes data much longer, but a peer could send data without end that decodes to nothing.
        static func encodedSize(collecting limit: Int) -> Int {
            let (double, overflows) = max(0, limit).multipliedReportingOverflow(by: 2)
            return overflows ? .max : max(double, ratioThreshold)
        }

        /// The size in bytes up to which the ratio does not apply.
        private static let ratioThreshold = 16 << 20

        /// Returns the maximum number of bytes that `count` encoded bytes may decode to.
        func size(for count: Int) -> Int {
            let (size, isTooLarge) = count.multipliedReportingOverflow(by: max(1, ratio))
            return isTooLarge ? .max : max(size, Self.ratioThreshold)
        }
    }
}
