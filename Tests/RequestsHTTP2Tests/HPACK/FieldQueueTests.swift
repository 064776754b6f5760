import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("Field queue")
struct FieldQueueTests {
    @Test("a queue has the fields of an array, and stores at most as many removed ones as others", .rows("H-8"))
    func model() {
        var random = SplitMix64(state: Mutator.seed)
        var queue = FieldQueue()
        var model: [FieldBytes] = []
        for step in 0..<20_000 {
            // Grows and shrinks in turn.
            if model.isEmpty || Int.random(in: 0..<8, using: &random) < (step / 500 % 2 == 0 ? 6 : 2) {
                let field = FieldBytes(
                    RandomFields.bytes(&random, count: 0...4), RandomFields.bytes(&random, count: 0...40))
                model.append(field)
                queue.append(nameCount: field.name.count) { $0 += field.name + field.value }
            } else {
                model.removeFirst()
                queue.removeFirst()
            }
            let text = model.reduce(0) { $0 + $1.name.count + $1.value.count }
            let isSmall = queue.stored.fields <= 2 * model.count && queue.stored.text <= 2 * text
            if queue.count != model.count || !isSmall { Issue.record("step \(step), seed \(Mutator.seed)") }
            guard step % 50 == 0 else { continue }
            let fields = (0..<queue.count).map { position in
                queue.withField(at: position) { name, value in
                    FieldBytes(name.withUnsafeBufferPointer(Array.init), value.withUnsafeBufferPointer(Array.init))
                }
            }
            if fields != model { Issue.record("step \(step), seed \(Mutator.seed)") }
        }
    }
}
