/// A document that is well-formed, without a document type and no deeper than allowed.
struct CheckedXML {
    /// The root element.
    let root: XMLValue
    let bytes: [UInt8]
    /// The places behind the targets of processing instructions that have nothing else.
    let bareInstructions: [Int]

    /// The document for Foundation's parser, which ends the process at `<?target?>`: it gets `<?target ?>` instead, which
    /// means the same (XML 1.0 §2.6).
    var data: Data {
        var data = Data(capacity: bytes.count + bareInstructions.count)
        var start = 0
        for place in bareInstructions {
            data.append(contentsOf: bytes[start..<place])
            data.append(0x20)
            start = place
        }
        data.append(contentsOf: bytes[start...])
        return data
    }
}
