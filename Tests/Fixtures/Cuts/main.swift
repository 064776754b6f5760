import Foundation
import Requests
import RequestsHTTP2

// Decodes the blocks of all HPACK stories, cut at every offset, and compares the lists with those of whole blocks.
//
// It decodes 1.2 GB, which takes five minutes without optimization. So `.ci/cuts` builds the program with the objects
// of a release build; it is not a target of the package. `swift test` cuts two blocks of each encoding, and compares
// the list of each whole block with its story (HPACKStoryTests).

private struct Stories: Decodable {
    var encodings: [Encoding]
}

private struct Encoding: Decodable {
    var id: String
    var blocksB64: [Data]
    /// The changes of the table's limit: the index of the block that follows each, and the new limit.
    var tableSize: [[Int]]?
}

/// Returns the lengths and the bytes of the names and values of each block.
///
/// With an offset, each block arrives in two pieces, the first one of that many bytes, or all if there are fewer.
private func lists(
    of blocks: [[UInt8]], tableSizes: [[Int]], cutAt offset: Int? = nil
) throws(HPACKError) -> [[UInt8]] {
    var decoder = HPACKDecoder()
    var lists: [[UInt8]] = []
    for (index, block) in blocks.enumerated() {
        for change in tableSizes where change[0] == index { decoder.setMaximumTableSize(change[1]) }
        var received: ReceivedFields?
        let middle = min(offset ?? 0, block.count)
        if offset != nil {
            try decoder.decode(block.span.extracting(0..<middle), endsBlock: false, limit: 1 << 20, into: &received)
        }
        let remainder = block.span.extracting(middle..<block.count)
        try decoder.decode(remainder, endsBlock: true, limit: 1 << 20, into: &received)
        lists.append(bytes(of: received))
    }
    return lists
}

private func bytes(of received: ReceivedFields?) -> [UInt8] {
    guard let received else { return [] }
    var bytes: [UInt8] = []
    for position in 0..<received.count {
        received.withBytes(at: position) { name, value, _ in
            for count in [name.count, value.count] { withUnsafeBytes(of: count) { bytes += $0 } }
            bytes += name
            bytes += value
        }
    }
    return bytes
}

let decoder = JSONDecoder()
decoder.keyDecodingStrategy = .convertFromSnakeCase
private let stories = try decoder.decode(
    Stories.self, from: Data(contentsOf: URL(filePath: CommandLine.arguments[1])))
var count = 0
for encoding in stories.encodings {
    let (blocks, tableSizes) = (encoding.blocksB64.map { Array($0) }, encoding.tableSize ?? [])
    let whole = try lists(of: blocks, tableSizes: tableSizes)
    for offset in 0...(blocks.map(\.count).max() ?? 0) {
        guard try lists(of: blocks, tableSizes: tableSizes, cutAt: offset) == whole else {
            print("\(encoding.id), cut at \(offset): another list")
            exit(1)
        }
    }
    count += blocks.reduce(0) { $0 + $1.count + 1 }
}
print("\(stories.encodings.count) encodings, cut at \(count) places")
exit(stories.encodings.count > 100 ? 0 : 1)
