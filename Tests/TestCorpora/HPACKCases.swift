package import Requests

extension Corpora {
    private static let stories = load("hpack-visible.json", as: HPACKStories.self)

    /// Series of header lists, by their ids.
    package static let hpackStories = Dictionary(
        uniqueKeysWithValues: (stories?.stories ?? []).map { ($0.id, $0) })

    /// The blocks that several encoders have made of the stories.
    package static let hpackEncodings = stories?.encodings ?? []

    /// Blocks at the limits of what is valid.
    package static let hpackEdges = load("hpack-edges.json", as: HPACKEdges.self)?.cases ?? []
}

private struct HPACKStories: Decodable {
    var stories: [HPACKStory]
    var encodings: [HPACKEncoding]
}

private struct HPACKEdges: Decodable {
    var cases: [HPACKEdge]
}

/// The header lists of one direction of a connection, in order.
package struct HPACKStory: Decodable, Sendable {
    package enum Kind: String, Decodable, Sendable {
        case request, response
    }

    package var id: String
    package var kind: Kind
    /// For each list, the names and values.
    package var lists: [[[String]]]
}

/// The blocks of a story, by one encoder.
package struct HPACKEncoding: Decodable, Sendable, CustomStringConvertible {
    package var id: String
    package var story: String
    package var encoder: String
    package var wireBytes: Int
    package var blocksB64: [Data]
    /// The positions of blocks before which the limit of the table changes, each with the limit.
    package var tableSize: [[Int]]?

    package var blocks: [[UInt8]] { blocksB64.map { Array($0) } }
    package var description: String { id }
}

/// Blocks that a decoder accepts or rejects.
package struct HPACKEdge: Decodable, Sendable, CustomStringConvertible {
    package var id: String
    package var blocksB64: [Data]
    package var verdict: Verdict
    package var tableSize: [[Int]]?
    /// The lists of accepted blocks.
    package var lists: [[[String]]]?

    package var blocks: [[UInt8]] { blocksB64.map { Array($0) } }
    package var description: String { id }
}
