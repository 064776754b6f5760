import Requests
import Testing

@Suite("The progress of a transfer")
struct TransferProgressTests {
    @Test(
        "a fraction is nil without a total, and from 0 to 1 with one",
        arguments: [
            (0, nil, nil), (7, nil, nil), (0, 0, 1), (5, 0, 1), (0, 4, 0), (1, 4, 0.25), (4, 4, 1), (5, 4, 1),
            (1, -1, 1),
            (Int.max, Int.max, 1), (-1, 4, 0),
        ] as [(Int, Int?, Double?)])
    func fractions(count: Int, total: Int?, fraction: Double?) {
        let received = TransferProgress(bytesReceived: count, bytesExpectedToReceive: total)
        #expect(received.fractionReceived == fraction && received.fractionSent == nil)
        let sent = TransferProgress(bytesSent: count, bytesExpectedToSend: total)
        #expect(sent.fractionSent == fraction && sent.fractionReceived == nil)
    }
}
