import Dispatch
@_spi(Lock) import Requests

extension Scenario {
    static let isolation: [Scenario] = [
        Scenario(
            name: "a call from the main actor runs encoder and decoder elsewhere, awaited or with a completion handler",
            rows: ["PM-15"], group: .isolation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("\"decoded\""))) { client in
                let recorder = QueueRecorder()
                try await callFromMainActor(client.client, recorder)
                try expect("the queues of the encoder and the decoder", recorder.all, is: [.elsewhere, .elsewhere])
                try await callBackToMainActor(client.client, recorder)
                try expect("the number of calls on other queues", recorder.all.count { $0 == .elsewhere }, is: 4)
            }
        },
        Scenario(
            name: "a blocking call runs encoder and decoder on the calling thread", rows: ["PM-15", "HT-2"],
            group: .isolation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("\"decoded\""))) { client in
                let recorder = QueueRecorder()
                let queue = DispatchQueue(label: "conformance.isolation")
                recorder.mark(queue)
                let (client, request) = (client.client, client.client.api.coding(recordedBy: recorder))
                let result = await withCheckedContinuation { continuation in
                    queue.async {
                        continuation.resume(
                            returning: Result { () throws(RequestError) in
                                try client.responseAndWait(for: request).value.text
                            })
                    }
                }
                try expect("the text", result.get(), is: "decoded")
                try expect("the queues of the encoder and the decoder", recorder.all, is: [.marked, .marked])
            }
        },
    ]

    @MainActor
    private static func callFromMainActor(_ client: Client<Probe>, _ recorder: QueueRecorder) async throws {
        recorder.mark(.main)
        try expect("the mark of the main actor", QueueRecorder.current, is: .marked)
        try expect("the text", try await client.perform(client.api.coding(recordedBy: recorder)).text, is: "decoded")
    }

    @MainActor
    private static func callBackToMainActor(_ client: Client<Probe>, _ recorder: QueueRecorder) async throws {
        let text = await withCheckedContinuation { continuation in
            client.perform(client.api.coding(recordedBy: recorder)) { result in
                continuation.resume(returning: result.map(\.value.text))
            }
        }
        try expect("the text", text.get(), is: "decoded")
    }
}

/// A record of the queues on which an app's code ran: the marked queue, or another one.
private final class QueueRecorder: Sendable {
    enum Queue { case marked, elsewhere }

    private static let key = DispatchSpecificKey<Bool>()
    private let queues = Lock<[Queue]>([])

    static var current: Queue { DispatchQueue.getSpecific(key: key) == true ? .marked : .elsewhere }

    var all: [Queue] { queues.withLock { $0 } }

    func mark(_ queue: DispatchQueue) {
        queue.setSpecific(key: Self.key, value: true)
    }

    func record() {
        queues.withLock { $0.append(Self.current) }
    }
}

extension Probe {
    /// Returns a request whose encoder and decoder record their queue.
    fileprivate func coding(recordedBy recorder: QueueRecorder) -> Request<Probe, DecodingProbe> {
        let decoder = ResponseDecoder<DecodingProbe> { _, data in
            recorder.record()
            return try JSONDecoder().decode(DecodingProbe.self, from: data)
        }
        return post(.json(EncodingProbe(recorder: recorder)), to: "/", receiving: decoder)
    }
}

/// A value that records the queue on which it is encoded.
private struct EncodingProbe: Encodable, Sendable {
    let recorder: QueueRecorder

    func encode(to encoder: any Encoder) throws {
        recorder.record()
        try "encoded".encode(to: encoder)
    }
}

private struct DecodingProbe: Decodable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
        text = try String(from: decoder)
    }
}
