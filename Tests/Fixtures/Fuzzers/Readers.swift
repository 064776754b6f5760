import Requests
import RequestsHTTP1

// The script `run` in this folder builds the program, with the main function of libFuzzer. The program is not a target
// of the package.

/// Reads one input twice, whole and in pieces: neither may trap, and both must have the same result.
///
/// The first byte selects the reader, the method and the size of the pieces. The peer sends the other bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let choice = start[0]
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let piece = Int(choice >> 4) + 1
    if choice & 1 == 0 {
        let method: HTTPMethod = choice & 2 == 0 ? .get : .head
        let reader = ResponseReader(answering: method, acceptsUpgrade: choice & 4 != 0)
        precondition(readResponse(bytes, reader, piece: count) == readResponse(bytes, reader, piece: piece))
    } else {
        precondition(readRequest(bytes, piece: count) == readRequest(bytes, piece: piece))
    }
    return 0
}

/// The events of a message as text, or nil if the reader rejected it or the bytes ended too early.
///
/// Both are nil, because whole input may reveal a violation where pieces reveal only the early end.
private typealias Reading = [String]?

private func readResponse(_ bytes: UnsafeRawBufferPointer, _ reader: ResponseReader, piece: Int) -> Reading {
    var reader = reader
    return read(bytes, piece: piece) { (part) throws(WireError) in
        let (consumed, event) = try reader.next(in: part.assumingMemoryBound(to: UInt8.self).span)
        switch event {
        case .needMore: return (consumed, nil, false)
        case .data(let range): return (consumed, part[range].map { String($0) }.joined(separator: " "), false)
        case .end: return (consumed, "\(event)", true)
        case .head, .interim: return (consumed, "\(event)", false)
        }
    }
}

private func readRequest(_ bytes: UnsafeRawBufferPointer, piece: Int) -> Reading {
    var reader = RequestReader()
    return read(bytes, piece: piece) { (part) throws(WireError) in
        let (consumed, event) = try reader.next(in: part)
        switch event {
        case .needMore: return (consumed, nil, false)
        case .data(let range): return (consumed, part[range].map { String($0) }.joined(separator: " "), false)
        case .end: return (consumed, "\(event)", true)
        case .head: return (consumed, "\(event)", false)
        }
    }
}

/// Reads the bytes in pieces, each after the bytes not yet consumed, until the message or the bytes end.
private func read(
    _ bytes: UnsafeRawBufferPointer, piece: Int,
    _ step: (UnsafeRawBufferPointer) throws(WireError) -> (consumed: Int, event: String?, isEnd: Bool)
) -> Reading {
    var events: [String] = []
    var body = ""
    var (consumed, received) = (0, 0)
    while true {
        let result: (consumed: Int, event: String?, isEnd: Bool)
        do throws(WireError) {
            result = try step(UnsafeRawBufferPointer(rebasing: bytes[consumed..<received]))
        } catch {
            return nil
        }
        precondition(result.consumed <= received - consumed, "the reader consumed more bytes than it received")
        consumed += result.consumed
        guard let event = result.event else {
            guard received < bytes.count else { return nil }
            received = min(bytes.count, received + piece)
            continue
        }
        if result.isEnd { return events + [body, event, "\(consumed) read"] }
        if event.first?.isNumber == true { body += event + " " } else { events.append(event) }
    }
}
