import Foundation
import Requests
import Synchronization
import TestSupport
import Testing

@Suite("Depth of JSON", .timeLimit(.minutes(10)))
struct JSONDepthTests {
    @Test(
        "a small stack suffices to read, compare, hash, print and release JSON of the greatest depth", .rows("R-75"),
        arguments: [("[", "]"), ("{\"a\":", "}")])
    func smallStack(open: String, close: String) {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex(false)
        let thread = Thread {
            defer { done.signal() }
            let depth = JSONValue.maximumDepth
            let text = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            guard let first = try? JSONValue(parsing: Data(text.utf8)),
                let second = try? JSONValue(parsing: Data(text.utf8)),
                JSONValue.SyntaxError.check(Data(String(repeating: open, count: 100_000).utf8))?.problem == .tooDeep
            else { return }
            let isEqual = first == second && first.hashValue == second.hashValue && first.description == text
            result.withLock { $0 = isEqual }
        }
        // Half the stack size of a secondary thread on Apple platforms.
        thread.stackSize = 256 * 1_024
        thread.start()
        done.wait()
        let isEqual = result.withLock { $0 }
        #expect(isEqual)
    }
}
