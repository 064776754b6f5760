extension ContentDecoding {
    /// How much may come out of how little.
    ///
    /// Over a limit of size the error is ``RequestError/Reason/tooLarge(limit:)``, and nothing more is read.
    public struct Limits: Hashable, Sendable {
        /// Bytes that a body may decode to; 16 GiB.
        ///
        /// A body that is collected also has the limit of its ``Delivery/collected(limit:)``, which counts decoded bytes.
        /// As it is sent, such a body may be twice as long as that limit, and 16 MiB in any case.
        public var bodySize = 16 << 30

        /// How many times as long as it was sent a body may become; 256.
        ///
        /// It counts from 16 MiB of decoded bytes on: a short body of nothing but zeros is no attack. Text becomes 5 to 20
        /// times as long; gzip can do 1,032 times, Brotli and Zstandard far more.
        public var ratio = 256

        /// Codings, one around the other; 5.
        ///
        /// More is ``RequestError/Reason/protocolViolation``.
        public var codings = 5

        /// The limits named above.
        public init() {}

        /// Bytes that a body may have as it is sent when `limit` bytes of it are collected: a coding makes nothing much
        /// longer, but a peer could send coded nothing without end.
        static func encodedSize(collecting limit: Int) -> Int {
            let (double, overflows) = max(0, limit).multipliedReportingOverflow(by: 2)
            return overflows ? .max : max(double, unsuspicious)
        }

        /// How long a body may be without asking for the ratio.
        private static let unsuspicious = 16 << 20

        /// Bytes that `count` bytes may decode to.
        func size(for count: Int) -> Int {
            let (size, isTooLarge) = count.multipliedReportingOverflow(by: max(1, ratio))
            return isTooLarge ? .max : max(size, Self.unsuspicious)
        }
    }
}
