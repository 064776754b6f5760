/// A document that is well-formed, has no document type and is not nested too deeply.
struct CheckedXML {
    /// The root element.
    let root: XMLValue
    let bytes: [UInt8]
    /// The positions after the targets of processing instructions without content.
    let emptyInstructions: [Int]

    /// The document for Foundation's parser.
    ///
    /// That parser ends the process at `<?target?>`, so it receives `<?target ?>`, which has the same meaning (XML 1.0
    /// §2.6, decision 0025).
    var data: Data {
        var data = Data(capacity: bytes.count + emptyInstructions.count)
        var start = 0
        for position in emptyInstructions {
            data.append(contentsOf: bytes[start..<position])
            data.append(0x20)
            start = position
        }
        data.append(contentsOf: bytes[start...])
        return data
    }
}
