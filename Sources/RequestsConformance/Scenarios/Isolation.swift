import Dispatch
@_spi(Lock) import Requests

extension Scenario {
    static let isolation: [Scenario] = [
        Scenario(
            name: "called from the main actor, encoder and decoder run elsewhere, awaited or with a completion",
            rows: ["PM-15", "HT-2"], group: .isolation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("\"decoded\""))) { client in
                let places = Places()
                try await callFromMainActor(client.client, places)
                try expect("where the encoder and the decoder ran", places.all, is: [.elsewhere, .elsewhere])
                try await callBackToMainActor(client.client, places)
                try expect("where they ran the second time", places.all.count { $0 == .elsewhere }, is: 4)
            }
        },
        Scenario(
            name: "called by a thread that waits, encoder and decoder run on that thread", rows: ["PM-15", "HT-2"],
            group: .isolation
        ) { context in
            try await context.run(serving: MockExecutor(.ok("\"decoded\""))) { client in
                let places = Places()
                let queue = DispatchQueue(label: "conformance.isolation")
                places.mark(queue)
                let (client, request) = (client.client, client.client.api.coding(at: places))
                let result = await withCheckedContinuation { continuation in
                    queue.async {
                        let result = client.resultAndWait(for: request)
                        continuation.resume(returning: result.map(\.value.text))
                    }
                }
                try expect("the text", result.get(), is: "decoded")
                try expect("where the encoder and the decoder ran", places.all, is: [.marked, .marked])
            }
        },
    ]

    @MainActor
    private static func callFromMainActor(_ client: Client<Probe>, _ places: Places) async throws {
        places.mark(.main)
        try expect("the mark of the main actor", Places.here, is: .marked)
        try expect("the text", try await client.perform(client.api.coding(at: places)).text, is: "decoded")
    }

    @MainActor
    private static func callBackToMainActor(_ client: Client<Probe>, _ places: Places) async throws {
        let text = await withCheckedContinuation { continuation in
            client.perform(client.api.coding(at: places)) { result in
                continuation.resume(returning: result.map(\.value.text))
            }
        }
        try expect("the text", text.get(), is: "decoded")
    }
}

/// Where an app's code ran: on the queue that was marked, or elsewhere.
private final class Places: Sendable {
    enum Place { case marked, elsewhere }

    private static let key = DispatchSpecificKey<Bool>()
    private let places = Lock<[Place]>([])

    /// Where this is called.
    static var here: Place { DispatchQueue.getSpecific(key: key) == true ? .marked : .elsewhere }

    var all: [Place] { places.withLock { $0 } }

    func mark(_ queue: DispatchQueue) {
        queue.setSpecific(key: Self.key, value: true)
    }

    func note() {
        places.withLock { $0.append(Self.here) }
    }
}

extension Probe {
    /// A request whose encoder and decoder note where they run.
    fileprivate func coding(at places: Places) -> Request<Probe, Noted> {
        let decoder = ResponseDecoder<Noted> { _, data in
            places.note()
            return try JSONDecoder().decode(Noted.self, from: data)
        }
        return post(.json(Noting(places: places)), to: "/", receiving: decoder)
    }
}

/// A value that notes where it is encoded.
private struct Noting: Encodable, Sendable {
    let places: Places

    func encode(to encoder: any Encoder) throws {
        places.note()
        try "encoded".encode(to: encoder)
    }
}

/// What is decoded.
private struct Noted: Decodable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
        text = try String(from: decoder)
    }
}
