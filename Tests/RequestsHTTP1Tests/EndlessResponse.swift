import Requests
import RequestsHTTP1

/// Reads a beginning followed by repetitions of `bytes`, keeping only the bytes that the reader does not consume.
///
/// - Returns: The error, if any, and the number of repeated bytes read by then, without the beginning.
func endlessResponse(
    beginningWith beginning: String, thenRepeating bytes: [UInt8], times: Int, limits: WireLimits = WireLimits()
) -> (error: WireError?, sent: Int) {
    var reader = ResponseReader(answering: .get, limits: limits)
    var buffer = Array(beginning.utf8)
    var sent = 0
    do throws(WireError) {
        for _ in 0..<times {
            buffer += bytes
            sent += bytes.count
            var consumed = 0
            while true {
                let (count, event) = try reader.next(in: buffer.span.extracting(consumed...))
                consumed += count
                if case .needMore = event { break }
                if case .end = event { return (nil, sent) }
            }
            buffer.removeFirst(consumed)
        }
    } catch {
        return (error, sent)
    }
    return (nil, sent)
}
