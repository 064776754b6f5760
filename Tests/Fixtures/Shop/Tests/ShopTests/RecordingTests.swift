import RequestsMock
import Testing

@testable import Shop

@Suite("Recordings", .timeLimit(.minutes(10)))
struct RecordingTests {
    @Test("a recording is written, read, and replayed in any order, by the bodies of the requests")
    func files() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "shop-\(UUID().uuidString).har")
        let path = file.path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(at: file) }
        let mock = MockExecutor()
        mock.on(Orders.self) { order in .value(Order(items: [Item(name: "\(order)", price: 3)], note: "sold")) }
        let recorder = HARRecorder()
        let recorded = Client(ShopAPI(), executor: mock.intercepted(by: recorder))
        for order in Orders.allCases { _ = try await recorded.perform(order) }
        try recorder.archive.write(to: path)
        let error = #expect(throws: HARError.self) { try recorder.archive.write(to: path) }
        #expect(error?.problem == .fileExists)

        let replay = MockExecutor(replaying: try HARArchive(contentsOf: path))
        let shop = Client(ShopAPI(), executor: replay)
        for order in Orders.allCases.reversed() {
            let sold = try await shop.perform(order)
            #expect(sold.items == [Item(name: "\(order)", price: 3)])
        }
        try replay.verify()
        await #expect(throws: RequestError.self) { try await shop.perform(Orders.pen) }
        #expect(throws: MockExecutor.VerificationError.self) { try replay.verify() }
    }
}
