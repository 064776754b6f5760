import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("Bounded record")
struct BoundedRecordTests {
    @Test("a record keeps the newest elements within both limits, whatever is appended or grows", .rows("R-73"))
    func random() {
        var random = RandomSeed().numbers()
        for (count, size) in [(10, 1_000), (1_000, 100), (7, 7), (1, 1), (50, 100_000), (3, 0)] {
            var record = BoundedRecord<Int>(count: count, size: size)
            var sizes: [Int] = []
            for number in 0..<2_000 {
                sizes.append(Int.random(in: 0...20, using: &random))
                #expect(record.append(number, size: sizes[number]) == number)
                let grown = Int.random(in: 0...number, using: &random)
                let wasKept = record.elements.contains(grown)
                let more = Int.random(in: 0...5, using: &random)
                if record.update(grown, addingSize: more, { #expect($0 == grown) }) { sizes[grown] += more }
                #expect(wasKept || !record.elements.contains(grown))
                let kept = record.elements
                #expect(kept == Array((number - kept.count + 1)...number))
                #expect(kept.count <= count && kept.count >= 1)
                #expect(kept.count == 1 || kept.reduce(0) { $0 + sizes[$1] } <= size)
                #expect(record.total == number + 1)
            }
        }
    }

    @Test("a record keeps at least nine tenths of its limit", .rows("R-73"))
    func tenth() {
        var record = BoundedRecord<Int>(count: 100, size: 1_000)
        for number in 0..<1_000 {
            record.append(number, size: 1)
            #expect(record.elements.count >= min(number + 1, 90))
        }
    }

    @Test(
        "a record with a limit of zero or less keeps nothing and counts its elements", .rows("R-73"),
        arguments: [0, -1, .min])
    func none(limit: Int) {
        var record = BoundedRecord<Int>(count: limit, size: limit)
        for number in 0..<10 { record.append(number, size: 1) }
        #expect(record.elements.isEmpty && record.total == 10)
        #expect(!record.update(9) { _ in Issue.record("an element that was not kept was updated") })
    }
}
