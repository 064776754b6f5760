import Dispatch
import Requests
import Synchronization
import Testing

private let api = AnonymousRequestProvider.example

/// Collects what a completion is told, and lets a test wait for it.
private final class Told<Value: Sendable>: Sendable {
    private let told = Mutex<[Value]>([])
    private let arrived = AsyncStream.makeStream(of: Void.self)

    func tell(_ value: Value) {
        told.withLock { $0.append(value) }
        arrived.continuation.yield()
    }

    var all: [Value] { told.withLock { $0 } }

    /// Waits for the next value that is told.
    func next() async {
        for await _ in arrived.stream { return }
    }
}

/// Runs a test's own steps beside the cooperative pool, one of whose few threads the test blocks.
private final class OwnQueue: TaskExecutor {
    private let queue = DispatchQueue(label: "test.steps")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A door that an exchange or a decoder stands before.
private final class Door: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let passed = Mutex(false)

    func open() { semaphore.signal() }
    func pass() {
        semaphore.wait()
        passed.withLock { $0 = true }
    }
}

/// Answers after its caller was cancelled, or never.
private struct EndlessExecutor: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        // Nothing waits for its end: only a cancellation comes.
        try await RequestError.wrapping(.other) { try await Task.sleep(for: .seconds(3_600)) }
        return .stub(200, to: request)
    }
}

private typealias TextResult = Result<TypedResponse<String>, RequestError>

@Suite("A call with a completion", .timeLimit(.minutes(5)))
struct RequestTaskTests {
    private let queue = DispatchQueue(label: "test.completion")
    private let text = api.get(.text, from: "/x")

    private static func states(of task: RequestTask) async -> [RequestTask.State] {
        await task.states.reduce(into: []) { $0.append($1) }
    }

    @Test("runs, processes and completes; each reader of its states sees all that follow (PM-80, PM-84)")
    func states() async throws {
        let told = Told<TextResult>()
        let task = StubExecutor(200, "hi").perform(text, on: queue, start: false, completion: told.tell)
        #expect(task.state == .running)
        async let states = Self.states(of: task)
        async let others = Self.states(of: task)
        for await state in task.states {
            #expect(state == .running)
            break
        }
        task.resume()
        await told.next()
        #expect(try told.all.first?.get().value == "hi")
        #expect(await states.last == .completed)
        #expect(await others.last == .completed)
        #expect(await Self.states(of: task) == [.completed])
        #expect(task.state.isFinal)
    }

    @Test("a call that fails is completed too, one that was cancelled is cancelled (PM-80, PM-72)")
    func failures() async {
        for (reason, state) in [
            (RequestError.Reason.connectionLost, RequestTask.State.completed), (.cancelled, .cancelled),
        ] {
            let told = Told<TextResult>()
            let executor = StubExecutor { _ throws(RequestError) in throw RequestError(reason) }
            let task = executor.perform(text, on: queue, completion: told.tell)
            await told.next()
            #expect(task.state == state)
            #expect(throws: RequestError.self) { try told.all[0].get() }
        }
    }

    @Test("cancelled before it is started, it sends nothing and completes as cancelled (PM-81, PM-82, T-61)")
    func unstarted() async {
        let calls = Told<String>()
        let executor = StubExecutor { request throws(RequestError) in
            calls.tell("\(request)")
            return .stub(200, to: request)
        }
        let told = Told<TextResult>()
        let task = executor.perform(text, on: queue, start: false, completion: told.tell)
        task.cancel()
        task.resume()
        await told.next()
        #expect(calls.all.isEmpty)
        let error = #expect(throws: RequestError.self) { try told.all[0].get() }
        #expect(error?.isCancellation == true)
        #expect(error?.mayHaveReachedServer == false)
        #expect(task.state == .cancelled)
        #expect(await Self.states(of: task) == [.cancelled])
    }

    @Test("cancelled in flight, it completes as cancelled (PM-81, T-61)")
    func inFlight() async {
        let told = Told<TextResult>()
        let task = EndlessExecutor().perform(text, on: queue, completion: told.tell)
        while task.attempt == 0 { await Task.yield() }
        task.cancel()
        #expect(task.state == .cancelled)
        await told.next()
        let error = #expect(throws: RequestError.self) { try told.all[0].get() }
        #expect(error?.isCancellation == true)
        #expect(error?.request?.target.path == "/api/x")
    }

    @Test("cancelled while its decoder works, it completes as cancelled without waiting for that (PM-81, T-61)")
    func whileDecoding() async {
        let door = Door()
        let told = Told<TextResult>()
        let decoder = ResponseDecoder<String> { _, _ in
            door.pass()
            return "decoded"
        }
        let task = StubExecutor(200, "x").perform(text.receiving(decoder), on: queue, completion: told.tell)
        await withTaskExecutorPreference(OwnQueue()) {
            for await state in task.states where state == .processing { break }
            task.cancel()
            await told.next()
            #expect(throws: RequestError.self) { try told.all[0].get() }
            door.open()
        }
        while !task.isAnnounced { await Task.yield() }
        #expect(told.all.count == 1)
    }

    @Test("cancelled from the completion queue, it completes as cancelled though its value is there (PM-81, T-61)")
    func beforeCompletion() async {
        let door = Door()
        let told = Told<TextResult>()
        let task = StubExecutor(200, "x").perform(text, on: queue, start: false, completion: told.tell)
        queue.async {
            door.pass()
            task.cancel()
        }
        task.resume()
        while !task.isAnnounced { await Task.yield() }
        #expect(task.state == .processing)
        door.open()
        await told.next()
        let error = #expect(throws: RequestError.self) { try told.all[0].get() }
        #expect(error?.isCancellation == true)
        #expect(task.state == .cancelled)
    }

    @Test("cancelling a call that is over does nothing (PM-81, T-61)")
    func afterCompletion() async throws {
        let told = Told<TextResult>()
        let task = StubExecutor(200, "x").perform(text, on: queue, completion: told.tell)
        await told.next()
        task.cancel()
        task.resume()
        queue.sync {}
        #expect(task.state == .completed)
        #expect(told.all.count == 1)
        #expect(try told.all[0].get().value == "x")
    }

    @Test("it is started once, however often it is resumed (PM-82)")
    func resumedTwice() async {
        let calls = Told<String>()
        let executor = StubExecutor { request throws(RequestError) in
            calls.tell("\(request)")
            return .stub(200, to: request)
        }
        let told = Told<TextResult>()
        let task = executor.perform(text, on: queue, start: false, completion: told.tell)
        #expect(calls.all.isEmpty && task.attempt == 0 && task.request == nil)
        task.resume()
        task.resume()
        await told.next()
        #expect(calls.all.count == 1)
    }

    @Test("it tells which request is under way, and the how-manieth (PM-83)")
    func members() async {
        let executor = StubExecutor { request throws(RequestError) in
            let isFirst = request.target.path.hasSuffix("/x")
            return .stub(isFirst ? 302 : 200, header: isFirst ? [Field(name: .location, value: "/y")] : [], to: request)
        }
        let told = Told<TextResult>()
        let task = executor.perform(text, on: queue, completion: told.tell)
        await told.next()
        #expect(task.attempt == 2)
        #expect(task.request?.target.path == "/y")
        #expect(task.request?.method.isIdempotent == true)
    }

    @Test("exactly one completion, whatever races (PM-86, T-61)")
    func races() async {
        let counts = await withTaskGroup(of: Int.self, returning: [Int].self) { group in
            for round in 0..<1_000 {
                group.addTask { await Self.race(round, on: DispatchQueue(label: "test.race")) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 1, count: 1_000))
    }

    /// One call, and a cancellation at some point of it; gives how often it completed.
    private static func race(_ round: Int, on queue: DispatchQueue) async -> Int {
        let told = Told<TextResult>()
        let task = StubExecutor(200, "x").perform(
            api.get(.text, from: "/x"), on: queue, start: false, completion: told.tell)
        async let cancelling: Void = {
            for _ in 0..<round % 13 { await Task.yield() }
            task.cancel()
        }()
        task.resume()
        await told.next()
        await cancelling
        queue.sync {}
        let isConsistent = (try? told.all.first?.get()) == nil ? task.state == .cancelled : task.state == .completed
        return isConsistent ? told.all.count : -1
    }
}

@Suite("Where a completion runs", .timeLimit(.minutes(5)))
struct CompletionPlaceTests {
    private let queue = DispatchQueue(label: "test.completion")
    private let key = DispatchSpecificKey<Bool>()

    /// Tells where it is released.
    private final class Witness: Sendable {
        let told: Told<Bool>
        let key: DispatchSpecificKey<Bool>

        init(_ told: Told<Bool>, _ key: DispatchSpecificKey<Bool>) {
            self.told = told
            self.key = key
        }

        deinit { told.tell(DispatchQueue.getSpecific(key: key) == true) }
    }

    private func task(_ executor: some RequestExecutor, _ released: Told<Bool>) -> RequestTask {
        queue.setSpecific(key: key, value: true)
        let witness = Witness(released, key)
        return executor.perform(api.get(.text, from: "/x"), on: queue, start: false) { [queue] _ in
            dispatchPrecondition(condition: .onQueue(queue))
            withExtendedLifetime(witness) {}
        }
    }

    @Test("on its queue, and there it is released (PM-85, C20)")
    func completed() async {
        let released = Told<Bool>()
        task(StubExecutor(200, "x"), released).resume()
        await released.next()
        #expect(released.all == [true])
    }

    @Test("released on its queue when the call is cancelled, started or not (PM-85)", arguments: [false, true])
    func cancelled(isStarted: Bool) async {
        let released = Told<Bool>()
        let task = task(EndlessExecutor(), released)
        if isStarted { task.resume() }
        task.cancel()
        await released.next()
        #expect(released.all == [true])
    }

    @Test("released on its queue, without being called, when the call is never started (PM-85)")
    func forgotten() async {
        let released = Told<Bool>()
        _ = task(StubExecutor(), released)
        await released.next()
        #expect(released.all == [true])
    }

    @Test("on the main actor when no queue is given; the value need not be Sendable (C20, PM-82)")
    @MainActor
    func mainActor() async {
        final class Box { var text = "" }
        let decoder = ResponseDecoder<Box> { _, body in
            let box = Box()
            box.text = String(decoding: body, as: UTF8.self)
            return box
        }
        let client = Client(api, executor: StubExecutor(200, "hi"))
        let text = await withCheckedContinuation { continuation in
            client.perform(api.get(.none, from: "/x").receiving(decoder)) { result in
                MainActor.preconditionIsolated()
                continuation.resume(returning: try? result.get().value.text)
            }
        }
        #expect(text == "hi")
    }

    @Test("cancelled on the main actor before its completion ran, a call completes as cancelled (PM-81)")
    @MainActor
    func cancelledOnMainActor() async {
        let client = Client(api, executor: StubExecutor(200, "hi"))
        let error = await withCheckedContinuation { continuation in
            let task = client.perform(api.get(.text, from: "/x")) { result in
                continuation.resume(returning: result)
            }
            // Nothing else runs on the main actor meanwhile, so that the completion cannot.
            while !task.isAnnounced { dispatchYield() }
            task.cancel()
        }
        #expect(throws: RequestError.self) { try error.get() }
    }

    private nonisolated func dispatchYield() {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .microseconds(100))
    }

    @Test("every form of a client's calls completes on its queue (HT-4)")
    func forms() async throws {
        let told = Told<Result<TypedResponse<String>, RequestError>>()
        let client = Client(api, executor: StubExecutor(200, "hi"))
        client.perform(api.get(.text, from: "/x"), on: queue, completion: told.tell)
        client.perform({ $0.get(.text, from: "/x") }, on: queue, completion: told.tell)
        client.perform(Call { $0.get(.text, from: "/x") }, on: queue, completion: told.tell)
        for _ in 0..<3 { await told.next() }
        #expect(try told.all.map { try $0.get().value } == ["hi", "hi", "hi"])
    }
}
