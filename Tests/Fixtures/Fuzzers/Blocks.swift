import Requests
import RequestsHTTP2

// The script `run` in this folder builds the program, with the main function of libFuzzer. The program is not a target
// of the package.

private let limit = 4096

/// Decodes one input as header blocks twice, whole and in pieces: neither may trap, and both must have the same result.
///
/// The lists are then encoded and decoded again.
/// The first byte is the size of the pieces. The other bytes are blocks, each after a byte with its length.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    var bytes = UnsafeBufferPointer(start: start + 1, count: count - 1)[...]
    var blocks: [[UInt8]] = []
    while let length = bytes.popFirst() {
        blocks.append(Array(bytes.prefix(Int(length))))
        bytes = bytes.dropFirst(Int(length))
    }
    let whole = decode(blocks, piece: .max)
    let pieces = decode(blocks, piece: Int(start[0]) + 1)
    // Pieces can violate a rule before the block is too large, so only the lists and whether one failed are compared.
    precondition(whole.lists == pieces.lists && whole.isOver == pieces.isOver)
    let sizes = whole.lists.map { $0.reduce(0) { $0 + $1.name.count + $1.value.count + 32 } }
    precondition(sizes.allSatisfy { $0 <= limit })
    // What was decoded is encoded again, with names as fields have them: UTF-8 in lower case.
    let lists = whole.lists.map { $0.compactMap(\.sendable) }
    var encoder = HPACKEncoder()
    let again = decode(lists.map { encoder.encode($0) }, piece: .max)
    precondition(!again.isOver && again.lists == lists)
    return 0
}

private struct FieldBytes: Equatable {
    var name: [UInt8]
    var value: [UInt8]

    /// The field with its name in lower case, or nil if the name is not UTF-8.
    var sendable: FieldBytes? {
        guard String(validating: name, as: UTF8.self) != nil else { return nil }
        return FieldBytes(name: name.map(ASCIIFolding.folded), value: value)
    }
}

/// Returns the lists of blocks until one ends the connection; a list that is too large is empty.
private func decode(_ blocks: [[UInt8]], piece: Int) -> (lists: [[FieldBytes]], isOver: Bool) {
    var decoder = HPACKDecoder()
    var lists: [[FieldBytes]] = []
    for block in blocks {
        var received: ReceivedFields?
        do throws(HPACKError) {
            var start = 0
            repeat {
                let end = start + min(piece, block.count - start)
                let fragment = block.span.extracting(start..<end)
                try decoder.decode(fragment, endsBlock: end == block.count, limit: limit, into: &received)
                start = end
            } while start < block.count
            lists.append(fields(of: received))
        } catch {
            guard error == .listTooLarge(limit: limit) else { return (lists, true) }
            lists.append([])
        }
    }
    return (lists, false)
}

private func fields(of received: ReceivedFields?) -> [FieldBytes] {
    guard let received else { return [] }
    return (0..<received.count).map { position in
        received.withBytes(at: position) { name, value, _ in FieldBytes(name: Array(name), value: Array(value)) }
    }
}

extension HPACKEncoder {
    fileprivate mutating func encode(_ list: [FieldBytes]) -> [UInt8] {
        var fields = OutgoingFields()
        for field in list {
            let name = Field.Name(String(decoding: field.name, as: UTF8.self))
            fields.append(Field(name: name, valueBytes: field.value))
        }
        var block: [UInt8] = []
        encode(fields, into: &block)
        return block
    }
}
