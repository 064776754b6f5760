import Dispatch
import RequestsXML
import Synchronization
import TestSupport
import Testing

@Suite("Depth of XML", .serialized, .timeLimit(.minutes(10)))
struct XMLDepthTests {
    private static func nested(_ count: Int, _ name: String = "a") -> String {
        String(repeating: "<\(name)>", count: count) + "x" + String(repeating: "</\(name)>", count: count)
    }

    @Test(
        "no limit exceeds the maximum depth: a million levels are an error, not a crash", .rows("R-75"),
        arguments: [513, 50_000, 1_000_000])
    func greatestDepth(levels: Int) {
        let executor = XMLExecutor(Self.nested(levels))
        #expect(executor.problem(depth: 1_000_000) == .tooDeep(limit: XMLValue.maximumDepth))
        #expect(executor.problem(depth: .max) == .tooDeep(limit: XMLValue.maximumDepth))
        #expect(XMLExecutor(String(repeating: "<a>", count: levels)).problem(depth: .max) != nil)
        let request = AnonymousRequestProvider("https://e.com").get(
            ResponseDecoder<Bool>.xml(depth: .max) { $0.parse() }, from: "/")
        #expect(throws: RequestError.self) { try executor.performAndWait(request) }
    }

    @Test(
        "a value of the maximum depth is read, compared, hashed, printed and released on a small stack", .rows("R-75"))
    func smallStack() throws {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<(isEqual: Bool, depth: Int)>((false, 0))
        let thread = Thread {
            defer { done.signal() }
            let text = Self.nested(XMLValue.maximumDepth)
            let executor = XMLExecutor(text)
            guard let first = try? executor.root(depth: .max), var copy = try? executor.root(depth: .max) else {
                return
            }
            let isEqual =
                first == copy && first.hashValue == copy.hashValue && first.description == text && first.text == "x"
            copy.attributes["b"] = "1"
            result.withLock { $0 = (isEqual && first != copy, first.description.utf8.count { $0 == 0x2F }) }
        }
        // Half the stack size of a secondary thread on Apple platforms.
        thread.stackSize = 256 * 1_024
        thread.start()
        done.wait()
        let (isEqual, depth) = result.withLock { $0 }
        #expect(isEqual && depth == XMLValue.maximumDepth)
    }
}
