extension TestServer {
    /// A reader of multipart bodies that arrive in pieces of any size (RFC 2046 §5.1).
    ///
    /// It keeps at most one header and one delimiter in memory, and reads each byte a bounded number of times.
    package struct MultipartReader: Sendable {
        /// The limits of a multipart body; negative limits count as 0.
        package struct Limits: Hashable, Sendable {
            /// The maximum number of parts; the default is 1,000.
            package var parts = 1_000
            /// The maximum length of a part's header in bytes; the default is 16 KiB.
            package var headerBytes = 16 << 10
            /// The maximum length of a part's content in bytes; the default is 64 MiB.
            package var partBytes = 64 << 20

            package init() {}
        }

        package enum Event: Hashable, Sendable {
            /// A part begins, with these fields.
            case part(Header)
            /// At least one byte of the current part's content.
            case data(Data)
        }

        private enum Phase: Sendable {
            case preamble, header, contentStart, content, epilogue
        }

        /// The maximum number of spaces and tabs after a boundary.
        private static var maximumPadding: Int { 256 }

        private let delimiter: [UInt8]
        private let limits: Limits
        private var phase = Phase.preamble
        // The first delimiter needs no line break before it.
        private var buffer: [UInt8] = [0x0D, 0x0A]
        private var parts = 0
        private var contentLength = 0
        /// The length of the header that has been checked for its end.
        private var checked = 0
        /// The error of an earlier call, to be thrown again.
        private var failure: MultipartError?

        /// Creates a reader for a body with this value of Content-Type.
        ///
        /// - Throws: ``MultipartError`` if the type is not multipart or has no valid boundary.
        package init(contentType: String, limits: Limits = Limits()) throws(MultipartError) {
            guard let type = MediaType(contentType), type.type == .multipart else { throw .notMultipart }
            guard let boundary = type.parameters["boundary"] else { throw .missingBoundary }
            guard Self.isBoundary(Array(boundary.utf8)) else { throw .invalidBoundary }
            delimiter = Array("\r\n--\(boundary)".utf8)
            self.limits = limits
        }

        /// Returns whether RFC 2046 §5.1.1 permits the boundary.
        private static func isBoundary(_ bytes: [UInt8]) -> Bool {
            guard 1...70 ~= bytes.count, bytes.last != 0x20 else { return false }
            return bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "'()+_,-./:=? ".utf8.contains(byte)
                }
            }
        }

        /// Reads more of the body, and returns the events in it, in order.
        ///
        /// - Throws: ``MultipartError``; every later call throws the same error.
        package mutating func read(_ data: some Sequence<UInt8>) throws(MultipartError) -> [Event] {
            if let failure { throw failure }
            do throws(MultipartError) {
                return try events(appending: data)
            } catch {
                failure = error
                throw error
            }
        }

        private mutating func events(appending data: some Sequence<UInt8>) throws(MultipartError) -> [Event] {
            // The epilogue is ignored, and never kept.
            if case .epilogue = phase { return [] }
            buffer.append(contentsOf: data)
            var events: [Event] = []
            var position = 0
            while try step(&position, &events) {}
            buffer.removeFirst(position)
            if case .epilogue = phase { buffer = [] }
            return events
        }

        /// Ends the body.
        ///
        /// - Throws: ``MultipartError`` if the last delimiter is missing.
        package mutating func finish() throws(MultipartError) {
            if let failure { throw failure }
            switch phase {
            case .epilogue: return
            case .preamble: throw .missingFirstDelimiter
            // A last delimiter at the end of the body needs no line break after it.
            case .header, .contentStart, .content: throw .incomplete
            }
        }

        /// Reads one element; returns false if more bytes are needed.
        private mutating func step(_ position: inout Int, _ events: inout [Event]) throws(MultipartError) -> Bool {
            switch phase {
            case .epilogue:
                position = buffer.count
                return false
            case .header: return try readHeader(&position, &events)
            case .contentStart: return beginContent(&position)
            case .preamble, .content: return try readContent(&position, &events)
            }
        }

        /// Skips the line break before the content, unless it begins a delimiter: a part can end after its header.
        ///
        /// - Returns: Whether the bytes are sufficient.
        private mutating func beginContent(_ position: inout Int) -> Bool {
            switch delimiterEnd(at: position) {
            case .incomplete: return false
            case .none: position += 2
            case .part, .last: break
            }
            phase = .content
            return true
        }

        private mutating func readContent(
            _ position: inout Int, _ events: inout [Event]
        ) throws(MultipartError) -> Bool {
            var start = position
            while true {
                let candidate = nextCandidate(from: start)
                let found = candidate.map(delimiterEnd) ?? .incomplete
                switch found {
                case .none:
                    start = candidate.map { $0 + 1 } ?? buffer.count
                    continue
                case .incomplete:
                    try emit(position..<(candidate ?? buffer.count), &events)
                    position = candidate ?? buffer.count
                    return false
                case .part(let end):
                    try emit(position..<(candidate ?? end), &events)
                    guard parts < max(0, limits.parts) else { throw .tooLarge("more than \(limits.parts) parts") }
                    parts += 1
                    (contentLength, checked) = (0, 0)
                    phase = .header
                    // The line break after the delimiter may also end an empty header.
                    position = end - 2
                    return true
                case .last(let end):
                    try emit(position..<(candidate ?? end), &events)
                    phase = .epilogue
                    position = end
                    return true
                }
            }
        }

        private enum Delimiter {
            case none, incomplete
            case part(end: Int)
            case last(end: Int)
        }

        /// Returns the next position at which the buffer may contain a delimiter.
        private func nextCandidate(from start: Int) -> Int? {
            buffer[start...].firstIndex(of: 0x0D)
        }

        /// Returns the delimiter at `start`, with the spaces and the line break after it.
        private func delimiterEnd(at start: Int) -> Delimiter {
            let available = buffer[start...].prefix(delimiter.count)
            guard delimiter.starts(with: available) else { return .none }
            guard available.count == delimiter.count else { return .incomplete }
            var index = start + delimiter.count
            guard index + 1 < buffer.count else { return .incomplete }
            if buffer[index] == 0x2D, buffer[index + 1] == 0x2D { return .last(end: index + 2) }
            let padding = buffer[index...].prefix(Self.maximumPadding).prefix { $0 == 0x20 || $0 == 0x09 }
            index += padding.count
            guard index + 1 < buffer.count else { return .incomplete }
            return buffer[index] == 0x0D && buffer[index + 1] == 0x0A ? .part(end: index + 2) : .none
        }

        private mutating func emit(_ range: Range<Int>, _ events: inout [Event]) throws(MultipartError) {
            guard case .content = phase, !range.isEmpty else { return }
            guard range.count <= max(0, limits.partBytes) - contentLength else {
                throw .tooLarge("a part of more than \(ErrorText.bytes(limits.partBytes))")
            }
            contentLength += range.count
            events.append(.data(Data(buffer[range])))
        }

        /// Reads a header and the empty line after it; `position` is at the line break of the delimiter.
        private mutating func readHeader(
            _ position: inout Int, _ events: inout [Event]
        ) throws(MultipartError) -> Bool {
            // The search starts at the last three bytes, so each byte is checked only a few times.
            var index = position + max(0, checked - 3)
            while index + 3 < buffer.count {
                if buffer[index] == 0x0D, buffer[index + 1] == 0x0A, buffer[index + 2] == 0x0D,
                    buffer[index + 3] == 0x0A
                {
                    guard index - position - 2 <= max(0, limits.headerBytes) else { throw headerTooLarge }
                    let header = try Self.header(buffer[min(position + 2, index)..<index])
                    events.append(.part(header))
                    phase = .contentStart
                    position = index + 2
                    return true
                }
                index += 1
            }
            checked = buffer.count - position
            if checked - 6 > max(0, limits.headerBytes) { throw headerTooLarge }
            return false
        }

        private var headerTooLarge: MultipartError {
            .tooLarge("a header of more than \(ErrorText.bytes(limits.headerBytes))")
        }

        /// Returns the fields of a header; a folded line continues the previous value (RFC 5322 §2.2.3).
        private static func header(_ bytes: ArraySlice<UInt8>) throws(MultipartError) -> Header {
            var fields: [(name: Field.Name, value: [UInt8])] = []
            var remainder = bytes
            while !remainder.isEmpty {
                let end = remainder.firstIndex(of: 0x0D) ?? remainder.endIndex
                let line = remainder[..<end]
                remainder = remainder[end...]
                if !remainder.isEmpty {
                    guard remainder.dropFirst().first == 0x0A else { throw .invalidHeader }
                    remainder = remainder.dropFirst(2)
                }
                guard !line.contains(0x0A) else { throw .invalidHeader }
                if let first = line.first, isBlank(first), let last = fields.indices.last {
                    fields[last].value += [0x20] + line.trimmingBlanks
                    continue
                }
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")), Token.isToken(line[..<colon]) else {
                    throw .invalidHeader
                }
                let name = String(decoding: line[..<colon], as: UTF8.self)
                fields.append((Field.Name(name), Array(line[(colon + 1)...].trimmingBlanks)))
            }
            return Header(fields.map { Field(name: $0.name, valueBytes: $0.value[...].trimmingBlanks) })
        }

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    }

    /// A part of a multipart body.
    public struct MultipartPart: Hashable, Sendable {
        /// The fields.
        public var header: Header
        /// The content, as it was sent.
        public var body: Data

        /// Creates a part from its fields and its content.
        public init(header: Header, body: Data = Data()) {
            self.header = header
            self.body = body
        }

        /// The name in Content-Disposition; nil if there is none.
        public var name: String? { header.contentDisposition?.parameters["name"] }
        /// The file name in Content-Disposition; nil if there is none.
        public var filename: String? { header.contentDisposition?.filename }
    }

    /// The error of a body that is not multipart or is malformed.
    @nonexhaustive
    public enum MultipartError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The Content-Type is missing or is not a multipart type.
        case notMultipart
        /// The Content-Type has no boundary.
        case missingBoundary
        /// The boundary is empty, has more than 70 bytes, or has characters that are not permitted (RFC 2046 §5.1.1).
        case invalidBoundary
        /// The body does not contain the boundary.
        case missingFirstDelimiter
        /// The header of a part is malformed.
        case invalidHeader
        /// The body is larger than a limit.
        case tooLarge(String)
        /// The body ends before the last delimiter.
        case incomplete

        /// The problem in one sentence.
        public var description: String {
            switch self {
            case .notMultipart: "the Content-Type is missing or is not a multipart type"
            case .missingBoundary: "the Content-Type has no boundary (RFC 2046 §5.1.1)"
            case .invalidBoundary: "the boundary is not one to 70 permitted characters (RFC 2046 §5.1.1)"
            case .missingFirstDelimiter: "the body does not contain the boundary"
            case .invalidHeader: "the header of a part is malformed"
            case .tooLarge(let problem): "the body has \(problem)"
            case .incomplete: "the body ends before the last delimiter"
            }
        }
    }
}
