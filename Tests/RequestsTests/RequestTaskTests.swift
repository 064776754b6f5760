import Dispatch
import Requests
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

/// Records values that a closure receives, and lets a test wait for them.
private final class EventRecorder<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    private let arrived = AsyncStream.makeStream(of: Void.self)

    func record(_ value: Value) {
        values.withLock { $0.append(value) }
        arrived.continuation.yield()
    }

    var all: [Value] { values.withLock { $0 } }

    /// Waits for the next value.
    func next() async {
        for await _ in arrived.stream { return }
    }
}

/// An executor that runs the steps of a test outside the cooperative pool, because the test blocks one of its threads.
private final class StepQueue: TaskExecutor {
    private let queue = DispatchQueue(label: "test.steps")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A gate that blocks a thread until it opens.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let passed = Mutex(false)

    func open() { semaphore.signal() }
    func pass() {
        semaphore.wait()
        passed.withLock { $0 = true }
    }
}

/// An executor whose exchange ends only when its task is cancelled.
private struct EndlessExecutor: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        // Longer than any test runs: only cancellation ends the sleep.
        try await RequestError.wrapping(.other) { try await Task.sleep(for: .seconds(3_600)) }
        return .stub(200, to: request)
    }
}

private typealias TextResult = Result<TypedResponse<String>, RequestError>

@Suite("Calls with a completion handler", .tags(.concurrent), .timeLimit(.minutes(10)))
struct RequestTaskTests {
    private let queue = DispatchQueue(label: "test.completion")
    private let text = api.get(.text, from: "/x")

    private static func states(of task: RequestTask) async -> [RequestTask.State] {
        await task.stateUpdates.reduce(into: []) { $0.append($1) }
    }

    @Test(
        "a call runs, processes and completes, and every state sequence ends with the final state",
        .rows("PM-80", "PM-84")
    )
    func states() async throws {
        let results = EventRecorder<TextResult>()
        let task = StubExecutor(200, "hi").perform(
            text, on: queue, startsImmediately: false, completion: results.record)
        #expect(task.state == .running)
        async let states = Self.states(of: task)
        async let others = Self.states(of: task)
        for await state in task.stateUpdates {
            #expect(state == .running)
            break
        }
        task.resume()
        await results.next()
        #expect(try results.all.first?.get().value == "hi")
        #expect(await states.last == .completed)
        #expect(await others.last == .completed)
        #expect(await Self.states(of: task) == [.completed])
        #expect(task.state.isFinal)
    }

    @Test(
        "a failed call ends as completed, and a cancelled call as cancelled",
        .rows("PM-80", "PM-72"))
    func failures() async {
        for (reason, state) in [
            (RequestError.Reason.connectionLost, RequestTask.State.completed), (.cancelled, .cancelled),
        ] {
            let results = EventRecorder<TextResult>()
            let executor = StubExecutor { _ throws(RequestError) in throw RequestError(reason) }
            let task = executor.perform(text, on: queue, completion: results.record)
            await results.next()
            #expect(task.state == state)
            let error = #expect(throws: RequestError.self) { try results.all[0].get() }
            #expect(error?.reason == reason && error?.isCancellation == (state == .cancelled))
        }
    }

    @Test("a call cancelled before it starts sends nothing and completes as cancelled", .rows("PM-81", "PM-82", "T-61"))
    func unstarted() async {
        let calls = EventRecorder<String>()
        let executor = StubExecutor { request throws(RequestError) in
            calls.record("\(request)")
            return .stub(200, to: request)
        }
        let results = EventRecorder<TextResult>()
        let task = executor.perform(text, on: queue, startsImmediately: false, completion: results.record)
        task.cancel()
        task.resume()
        await results.next()
        #expect(calls.all.isEmpty)
        let error = #expect(throws: RequestError.self) { try results.all[0].get() }
        #expect(error?.isCancellation == true)
        #expect(error?.mayHaveReachedServer == false)
        #expect(task.state == .cancelled)
        #expect(await Self.states(of: task) == [.cancelled])
    }

    @Test("a call cancelled in flight completes as cancelled", .rows("PM-81", "T-61"))
    func inFlight() async {
        let results = EventRecorder<TextResult>()
        let task = EndlessExecutor().perform(text, on: queue, completion: results.record)
        while task.attempt == 0 { await Task.yield() }
        task.cancel()
        #expect(task.state == .cancelled)
        await results.next()
        let error = #expect(throws: RequestError.self) { try results.all[0].get() }
        #expect(error?.isCancellation == true)
        #expect(error?.request?.target.path == "/api/x")
    }

    @Test(
        "a call cancelled while decoding completes as cancelled without waiting for the decoder",
        .rows("PM-80", "PM-81", "T-61"))
    func whileDecoding() async {
        let gate = Gate()
        let results = EventRecorder<TextResult>()
        let decoder = ResponseDecoder<String> { _, _ in
            gate.pass()
            return "decoded"
        }
        let task = StubExecutor(200, "x").perform(text.receiving(decoder), on: queue, completion: results.record)
        await withTaskExecutorPreference(StepQueue()) {
            for await state in task.stateUpdates where state == .processing { break }
            task.cancel()
            await results.next()
            #expect(throws: RequestError.self) { try results.all[0].get() }
            gate.open()
        }
        while !task.isAnnounced { await Task.yield() }
        #expect(results.all.count == 1)
    }

    @Test(
        "a call cancelled from its completion queue completes as cancelled even if it has a value",
        .rows("PM-80", "PM-81", "T-61")
    )
    func beforeCompletion() async {
        let gate = Gate()
        let results = EventRecorder<TextResult>()
        let task = StubExecutor(200, "x").perform(text, on: queue, startsImmediately: false, completion: results.record)
        queue.async {
            gate.pass()
            task.cancel()
        }
        task.resume()
        while !task.isAnnounced { await Task.yield() }
        #expect(task.state == .processing)
        gate.open()
        await results.next()
        let error = #expect(throws: RequestError.self) { try results.all[0].get() }
        #expect(error?.isCancellation == true)
        #expect(task.state == .cancelled)
    }

    @Test("cancelling a completed call has no effect", .rows("PM-81", "PM-83", "T-61"))
    func afterCompletion() async throws {
        let results = EventRecorder<TextResult>()
        let task = StubExecutor(200, "x").perform(text, on: queue, completion: results.record)
        await results.next()
        task.cancel()
        task.resume()
        queue.sync {}
        #expect(task.state == .completed)
        #expect(results.all.count == 1)
        #expect(try results.all[0].get().value == "x")
    }

    @Test("a call starts once, however often it is resumed", .rows("PM-82", "PM-83"))
    func resumedTwice() async {
        let calls = EventRecorder<String>()
        let executor = StubExecutor { request throws(RequestError) in
            calls.record("\(request)")
            return .stub(200, to: request)
        }
        let results = EventRecorder<TextResult>()
        let task = executor.perform(text, on: queue, startsImmediately: false, completion: results.record)
        #expect(calls.all.isEmpty && task.attempt == 0 && task.request == nil)
        task.resume()
        task.resume()
        await results.next()
        #expect(calls.all.count == 1)
    }

    @Test("a task has its state, the current request with its options, and the number of its attempt", .rows("PM-83"))
    func members() async {
        let executor = StubExecutor { request throws(RequestError) in
            let isFirst = request.target.path.hasSuffix("/x")
            return .stub(isFirst ? 302 : 200, header: isFirst ? [Field(name: .location, value: "/y")] : [], to: request)
        }
        let results = EventRecorder<TextResult>()
        let options = RequestOptions(handlesCookies: false, priority: .high)
        let task = executor.perform(text.with(options: options), on: queue, completion: results.record)
        await results.next()
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(task.request?.target.path == "/y")
        #expect(task.request?.method.isIdempotent == true)
        #expect(task.request?.options == options)
    }

    @Test("a call completes exactly once, even if cancellation and completion race", .rows("PM-86", "T-61"))
    func races() async {
        let counts = await withTaskGroup(of: Int.self, returning: [Int].self) { group in
            for round in 0..<1_000 {
                group.addTask { await Self.race(round, on: DispatchQueue(label: "test.race")) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 1, count: 1_000))
    }

    /// Performs and cancels a call, and returns the number of its completions, or -1 if its state is inconsistent.
    private static func race(_ round: Int, on queue: DispatchQueue) async -> Int {
        let results = EventRecorder<TextResult>()
        let task = StubExecutor(200, "x").perform(
            api.get(.text, from: "/x"), on: queue, startsImmediately: false, completion: results.record)
        async let cancelling: Void = {
            for _ in 0..<round % 13 { await Task.yield() }
            task.cancel()
        }()
        task.resume()
        await results.next()
        await cancelling
        queue.sync {}
        let isConsistent = (try? results.all.first?.get()) == nil ? task.state == .cancelled : task.state == .completed
        return isConsistent ? results.all.count : -1
    }
}

@Suite("Queues of completion handlers", .tags(.concurrent), .timeLimit(.minutes(10)))
struct CompletionPlaceTests {
    private let queue = DispatchQueue(label: "test.completion")
    private let key = DispatchSpecificKey<Bool>()

    /// An object that records whether it is released on the completion queue.
    private final class Witness: Sendable {
        let releases: EventRecorder<Bool>
        let key: DispatchSpecificKey<Bool>

        init(_ releases: EventRecorder<Bool>, _ key: DispatchSpecificKey<Bool>) {
            self.releases = releases
            self.key = key
        }

        deinit { releases.record(DispatchQueue.getSpecific(key: key) == true) }
    }

    private func task(_ executor: some RequestExecutor, _ released: EventRecorder<Bool>) -> RequestTask {
        queue.setSpecific(key: key, value: true)
        let witness = Witness(released, key)
        return executor.perform(api.get(.text, from: "/x"), on: queue, startsImmediately: false) { [queue] _ in
            dispatchPrecondition(condition: .onQueue(queue))
            withExtendedLifetime(witness) {}
        }
    }

    @Test("a completion handler runs and is released on its queue", .rows("PM-85", "C20"))
    func completed() async {
        let released = EventRecorder<Bool>()
        task(StubExecutor(200, "x"), released).resume()
        await released.next()
        #expect(released.all == [true])
    }

    @Test(
        "the handler of a cancelled call is released on its queue, started or not", .rows("PM-85"),
        arguments: [false, true])
    func cancelled(isStarted: Bool) async {
        let released = EventRecorder<Bool>()
        let task = task(EndlessExecutor(), released)
        if isStarted { task.resume() }
        task.cancel()
        await released.next()
        #expect(released.all == [true])
    }

    @Test("the handler of a call that never starts is released on its queue without being called", .rows("PM-85"))
    func forgotten() async {
        let released = EventRecorder<Bool>()
        _ = task(StubExecutor(), released)
        await released.next()
        #expect(released.all == [true])
    }

    @Test(
        "without a queue the handler runs on the main actor, and the value need not be Sendable",
        .rows("C20", "PM-15", "PM-82"))
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

    @Test("a call cancelled on the main actor before its handler runs completes as cancelled", .rows("PM-81"))
    @MainActor
    func cancelledOnMainActor() async {
        let client = Client(api, executor: StubExecutor(200, "hi"))
        let error = await withCheckedContinuation { continuation in
            let task = client.perform(api.get(.text, from: "/x")) { result in
                continuation.resume(returning: result)
            }
            // This closure occupies the main actor, so the completion handler cannot run yet.
            while !task.isAnnounced { dispatchYield() }
            task.cancel()
        }
        #expect(throws: RequestError.self) { try error.get() }
    }

    private nonisolated func dispatchYield() {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .microseconds(100))
    }

    @Test("every form of call of a client completes on its queue", .rows("HT-4"))
    func forms() async throws {
        let results = EventRecorder<Result<TypedResponse<String>, RequestError>>()
        let client = Client(api, executor: StubExecutor(200, "hi"))
        client.perform(api.get(.text, from: "/x"), on: queue, completion: results.record)
        client.perform({ $0.get(.text, from: "/x") }, on: queue, completion: results.record)
        client.perform(Call { $0.get(.text, from: "/x") }, on: queue, completion: results.record)
        for _ in 0..<3 { await results.next() }
        #expect(try results.all.map { try $0.get().value } == ["hi", "hi", "hi"])
    }
}
