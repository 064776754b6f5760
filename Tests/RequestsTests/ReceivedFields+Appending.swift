import Requests

extension ReceivedFields? {
    /// Appends a field; returns false if the section would be larger than 2 GiB.
    mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) -> Bool {
        let text = Array(name) + Array(value)
        var writer = ReceivedFields.Writer(taking: &self, from: 0)
        let hasRoom =
            writer.append(name: 0..<name.count, value: name.count..<text.count, isASCII: false)
            && writer.appendText(of: text.span, upTo: text.count)
        self = writer.finish()
        return hasRoom
    }
}
