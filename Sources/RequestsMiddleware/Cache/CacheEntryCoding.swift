extension Caching.Entry {
    /// The entry as bytes, for your own store; their format may differ between versions of this library.
    public var encoded: [UInt8] {
        var writer = CacheEntryWriter()
        switch content {
        case .response(let response): writer.append(response)
        case .variants(let list): writer.append(list)
        }
        return writer.bytes
    }

    /// Creates an entry from bytes that ``encoded`` returned; nil if they are malformed.
    public init?(encoded bytes: [UInt8]) {
        let content = bytes.withUnsafeBytes { buffer in
            var reader = CacheEntryReader(buffer)
            return reader.content()
        }
        guard let content else { return nil }
        self.init(content)
    }
}

/// A writer for the bytes of an entry; numbers are little-endian.
struct CacheEntryWriter {
    var bytes: [UInt8] = []

    fileprivate static let responseMark: UInt8 = 1
    fileprivate static let variantsMark: UInt8 = 2
    /// The bit that is added to the storage byte of a response that must be validated.
    fileprivate static let validationFlag: UInt8 = 0x80

    mutating func append(_ response: StoredResponse) {
        bytes.reserveCapacity(bytes.count + response.size)
        bytes.append(Self.responseMark)
        bytes.append(UInt8(response.storage.rawValue) | (response.needsValidation ? Self.validationFlag : 0))
        append(UInt64(response.status.code))
        for number in [response.requestTime, response.responseTime, response.heuristicLimit] {
            append(number.bitPattern)
        }
        append(UInt64(response.header.count))
        for field in response.header {
            append(Array(field.name.rawValue.utf8))
            append(field.valueBytes)
        }
        append(UInt64(response.body.count))
        bytes.append(contentsOf: response.body)
    }

    mutating func append(_ list: VariantList) {
        bytes.append(Self.variantsMark)
        append(list.generation)
        append(UInt64(list.names.count))
        for names in list.names {
            append(UInt64(names.count))
            for name in names { append(Array(name.utf8)) }
        }
    }

    mutating func append(_ number: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func append(_ text: [UInt8]) {
        append(UInt64(text.count))
        bytes.append(contentsOf: text)
    }
}

/// A reader for the bytes of an entry; the bytes are not trusted.
struct CacheEntryReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    private var remaining: Int { bytes.count - position }

    /// Reads an entry that ends with the bytes; nil if they are malformed.
    mutating func content() -> Caching.Entry.Content? {
        guard let mark = byte() else { return nil }
        let content: Caching.Entry.Content?
        switch mark {
        case CacheEntryWriter.responseMark: content = response().map(Caching.Entry.Content.response)
        case CacheEntryWriter.variantsMark: content = variants().map(Caching.Entry.Content.variants)
        default: content = nil
        }
        return remaining == 0 ? content : nil
    }

    private mutating func response() -> StoredResponse? {
        guard let first = byte(),
            let storage = Caching.Storage(rawValue: Int(first & ~CacheEntryWriter.validationFlag)),
            let code = number(),
            (200...599).contains(code), let requestTime = time(), let responseTime = time(),
            let heuristicLimit = time(), let count = count(ofAtLeast: 16)
        else { return nil }
        var fields: [Field] = []
        fields.reserveCapacity(count)
        for _ in 0..<count {
            guard let name = text(), let value = slice() else { return nil }
            let fieldName = Field.Name(name)
            // A field with these bytes could not have been received.
            guard fieldName.isValid, !value.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return nil }
            fields.append(Field(name: fieldName, valueBytes: value))
        }
        guard let body = slice() else { return nil }
        return StoredResponse(
            status: HTTPStatus(Int(code)), header: Header(fields), body: Data(body), requestTime: requestTime,
            responseTime: responseTime, storage: storage, heuristicLimit: heuristicLimit,
            needsValidation: first & CacheEntryWriter.validationFlag != 0)
    }

    private mutating func variants() -> VariantList? {
        guard let generation = number(), let count = count(ofAtLeast: 8), count <= VariantList.limit else { return nil }
        var lists: [[String]] = []
        for _ in 0..<count {
            guard let nameCount = self.count(ofAtLeast: 8) else { return nil }
            var names: [String] = []
            for _ in 0..<nameCount {
                guard let name = text() else { return nil }
                names.append(name)
            }
            lists.append(names)
        }
        return VariantList(generation: generation, names: lists)
    }

    private mutating func byte() -> UInt8? {
        guard remaining > 0 else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func number() -> UInt64? {
        guard remaining >= 8 else { return nil }
        defer { position += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private mutating func time() -> Double? {
        number().map(Double.init(bitPattern:)).flatMap { $0.isFinite ? $0 : nil }
    }

    /// Reads the number of elements that follow, each of at least `size` bytes; a number too large for the remaining
    /// bytes is rejected.
    private mutating func count(ofAtLeast size: Int) -> Int? {
        number().flatMap { Int(exactly: $0) }.flatMap { $0 <= remaining / size ? $0 : nil }
    }

    private mutating func slice() -> UnsafeRawBufferPointer? {
        guard let count = count(ofAtLeast: 1) else { return nil }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    private mutating func text() -> String? { slice().flatMap { String(validating: $0, as: UTF8.self) } }
}
