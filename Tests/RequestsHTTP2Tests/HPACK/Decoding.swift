import Requests
import RequestsHTTP2
import TestCorpora

/// A field as bytes.
struct FieldBytes: Hashable, CustomStringConvertible {
    var name: [UInt8]
    var value: [UInt8]

    init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    /// Creates a field of the collections, which write each byte as a scalar.
    init(_ field: [String]) {
        self.init(latin1(field[0]), latin1(field[1]))
    }

    init(_ name: String, _ value: String) {
        self.init(Array(name.utf8), Array(value.utf8))
    }

    var description: String { "\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))" }
}

/// The pieces in which blocks are decoded.
enum Fragments: Hashable {
    case whole
    case oneByteAtATime
    /// Two pieces, the first one of this many bytes, or one piece if the block has fewer.
    case cut(at: Int)
}

/// Returns the fields of a list.
func fields(of received: ReceivedFields?) -> [FieldBytes] {
    guard let received else { return [] }
    return (0..<received.count).map { position in
        received.withBytes(at: position) { name, value, _ in FieldBytes(Array(name), Array(value)) }
    }
}

extension HPACKDecoder {
    /// Decodes a block that arrives in fragments.
    mutating func decode(
        _ block: [UInt8], _ fragments: Fragments = .whole, limit: Int = 1 << 20
    ) throws(HPACKError) -> [FieldBytes] {
        var received: ReceivedFields?
        let ends =
            switch fragments {
            case .whole: [block.count]
            case .oneByteAtATime: Array(0...block.count)
            case .cut(let offset): [min(offset, block.count), block.count]
            }
        var start = 0
        for (index, end) in ends.enumerated() {
            let isLast = index == ends.count - 1
            try decode(block.span.extracting(start..<end), endsBlock: isLast, limit: limit, into: &received)
            start = end
        }
        return fields(of: received)
    }
}

/// Returns the lists of consecutive blocks, with changes of the limit of the table before some of them.
func decode(
    _ blocks: [[UInt8]], tableSizes: [[Int]]? = nil, _ fragments: Fragments = .whole
) throws(HPACKError) -> [[FieldBytes]] {
    var decoder = HPACKDecoder()
    var lists: [[FieldBytes]] = []
    for (index, block) in blocks.enumerated() {
        for change in tableSizes ?? [] where change[0] == index { decoder.setMaximumTableSize(change[1]) }
        lists.append(try decoder.decode(block, fragments))
    }
    return lists
}

/// Returns the fields of a list to send.
func outgoing(_ list: [FieldBytes]) -> OutgoingFields {
    list.reduce(into: OutgoingFields()) { outgoing, field in
        let name = Field.Name(String(decoding: field.name, as: UTF8.self))
        outgoing.append(Field(name: name, valueBytes: field.value))
    }
}

/// Returns the blocks of consecutive lists, with a table of at most `size` bytes.
func encode(_ lists: [[FieldBytes]], size: Int = 4096) -> [[UInt8]] {
    var encoder = HPACKEncoder()
    encoder.setMaximumTableSize(size)
    return lists.map { list in
        var block: [UInt8] = []
        encoder.encode(outgoing(list), into: &block)
        return block
    }
}
