@_spi(Lock) import Requests

/// The stubs of a mock, shared by its copies.
final class StubBook: Sendable {
    fileprivate struct State: Sendable {
        var nextNumber = 1
        var stubs: [Int: Stub] = [:]
        var rooted = PatternIndex()
        var relative = PatternIndex()
        /// The stubs for endpoints, by the type of their API.
        var endpoints: [ObjectIdentifier: EndpointIndex] = [:]
        var types: [ObjectIdentifier: [Int]] = [:]
        var predicates: [Int] = []
        /// The requests that no stub matched, oldest first, up to the first 100.
        var misses: [MissReport] = []
        var missCount = 0
    }

    private let state = Lock(State())

    func add(
        _ condition: Stub.Condition, _ reaction: Stub.Reaction, _ location: Stub.Location, _ supply: (any StubSupply)?
    ) -> Stub {
        state.withLock { state in
            let number = state.nextNumber
            state.nextNumber += 1
            let stub = Stub(number, condition, reaction, location, supply)
            state.stubs[number] = stub
            switch condition {
            case .endpoint(let matcher):
                let index = EndpointIndex(comparingAPIsBy: matcher.areEqual)
                state.endpoints[matcher.apiType, default: index].insert(number)
            case .endpointType(let type, _): state.types[type, default: []].append(number)
            case .pattern(_, _, .success(let pattern)) where pattern.isRooted:
                state.rooted.insert(number, at: pattern.components)
            case .pattern(_, _, .success(let pattern)): state.relative.insert(number, at: pattern.components)
            case .pattern(_, _, .failure): break
            case .predicate: state.predicates.append(number)
            }
            return stub
        }
    }

    /// Removes `stub`; has no effect if it has been removed.
    func remove(_ stub: Stub) {
        state.withLock { state in
            guard state.stubs.removeValue(forKey: stub.number) != nil else { return }
            switch stub.condition {
            case .endpoint(let matcher): state.endpoints[matcher.apiType]?.remove(stub.number)
            case .endpointType(let type, _): state.types[type]?.removeAll { $0 == stub.number }
            case .pattern(_, _, .success(let pattern)) where pattern.isRooted:
                state.rooted.remove(stub.number, at: pattern.components)
            case .pattern(_, _, .success(let pattern)): state.relative.remove(stub.number, at: pattern.components)
            case .pattern(_, _, .failure): break
            case .predicate: state.predicates.removeAll { $0 == stub.number }
            }
        }
    }

    /// Removes all stubs, and the record of the requests that matched none.
    func removeAll() {
        state.withLock { state in
            let number = state.nextNumber
            state = State()
            // The record identifies stubs by their numbers, so no number is used again.
            state.nextNumber = number
        }
    }

    /// The stubs, oldest first.
    var stubs: [Stub] { state.withLock { Array($0.stubs.values) }.sorted { $0.number < $1.number } }

    /// The reports of requests that no stub matched, oldest first, and the number of all such requests.
    var misses: (reports: [MissReport], count: Int) { state.withLock { ($0.misses, $0.missCount) } }

    func record(_ miss: MissReport) {
        state.withLock { state in
            state.missCount += 1
            if state.misses.count < 100 { state.misses.append(miss) }
        }
    }
}

// MARK: Matching

extension StubBook {
    /// Returns the newest stub that matches the request of `candidate`; nil if there is none.
    ///
    /// - Throws: ``UnreadBody`` if a body must be read first.
    func stub(for candidate: MatchContext) throws(UnreadBody) -> Stub? {
        let request = candidate.request
        // Conditions and endpoints are code of the test, so they do not run inside the lock.
        var (found, tasks) = state.withLock { $0.candidates(for: request) }
        if tasks.isEmpty && found.isEmpty { return nil }
        if tasks.contains(.prepareEndpoints), let api = request.api {
            prepareEndpoints(for: api)
            found = state.withLock { $0.candidates(for: request).stubs }
        }
        if tasks.contains(.comparePatterns) {
            let target = candidate.target
            found += state.withLock { $0.patterns(matching: target) }
        }
        let newest = try Self.newest(of: found, matching: candidate)
        if tasks.contains(.compareEndpoints), let endpoint = try endpoint(newerThan: newest, matching: candidate) {
            return endpoint
        }
        guard newest?.supply != nil else { return newest }
        var supplied: [Stub] = []
        for stub in found where stub.supply != nil {
            if try stub.matches(candidate) { supplied.append(stub) }
        }
        return Self.next(of: supplied) ?? newest
    }

    private static func newest(
        of stubs: [Stub], matching candidate: MatchContext
    ) throws(UnreadBody) -> Stub? {
        let sorted = stubs.count == 1 ? stubs : stubs.sorted { $0.number > $1.number }
        for stub in sorted where try stub.matches(candidate) { return stub }
        return nil
    }

    /// Returns the newest matching stub for an endpoint that is newer than `found` and is not a candidate by its path.
    private func endpoint(
        newerThan found: Stub?, matching candidate: MatchContext
    ) throws(UnreadBody) -> Stub? {
        // An endpoint that was found by the request's path is the request's own, unless middleware changed the path.
        if case .endpoint = found?.condition { return nil }
        let number = found?.number ?? 0
        guard let api = candidate.request.api, state.withLock({ $0.hasEndpoints(for: api, newerThan: number) }) else {
            return nil
        }
        // Middleware may have changed the path, or the request may be for another API value of the same type.
        let original = candidate.original
        let others = state.withLock { $0.otherStubs(for: api, original) }
        return try Self.newest(of: others.filter { $0.number > number }, matching: candidate)
    }

    /// Returns the stub that has the first remaining response among `stubs`, and reserves that response.
    private static func next(of stubs: [Stub]) -> Stub? {
        while true {
            let positions = stubs.compactMap { stub in stub.supply?.nextPosition.map { (position: $0, stub: stub) } }
            guard let first = positions.min(by: { $0.position < $1.position })?.stub else { return nil }
            // Another request may have reserved the response meanwhile.
            if first.supply?.reserve() == true { return first }
        }
    }

    /// Prepares the stubs for endpoints of `api` that have not been prepared.
    private func prepareEndpoints(for api: any Sendable) {
        let type = ObjectIdentifier(Swift.type(of: api))
        // For one API value, whichever value a request has, because the index has the paths of one only.
        let (pending, api) = state.withLock { ($0.pendingStubs(of: type), $0.endpoints[type]?.use(api) ?? api) }
        let requests = pending.map { stub -> (Int, PreparedRequest?) in
            guard case .endpoint(let matcher) = stub.condition else { return (stub.number, nil) }
            return (stub.number, try? matcher.request(for: api).get())
        }
        state.withLock { state in
            for (number, request) in requests { state.endpoints[type]?.setRequest(request, of: number) }
        }
    }

    /// The work besides checking the candidates that is necessary to find the stub for a request.
    fileprivate struct Tasks: OptionSet {
        let rawValue: UInt8

        static let prepareEndpoints = Tasks(rawValue: 1)
        static let comparePatterns = Tasks(rawValue: 2)
        static let compareEndpoints = Tasks(rawValue: 4)
    }
}

extension StubBook.State {
    func pendingStubs(of type: ObjectIdentifier) -> [Stub] {
        (endpoints[type]?.pending ?? []).compactMap { stubs[$0] }
    }

    /// Returns the stubs, except for patterns, that may match `request`, in any order, and the work that remains.
    func candidates(for request: PreparedRequest) -> (stubs: [Stub], tasks: StubBook.Tasks) {
        var found = predicates.isEmpty ? [] : predicates.compactMap { stubs[$0] }
        if !types.isEmpty, let type = request.endpointType, let numbers = types[ObjectIdentifier(type)] {
            found += numbers.compactMap { stubs[$0] }
        }
        var tasks: StubBook.Tasks = rooted.isEmpty && relative.isEmpty ? [] : .comparePatterns
        if !endpoints.isEmpty, let api = request.api, let index = endpoints[ObjectIdentifier(type(of: api))] {
            for number in index.stubs(for: request) { if let stub = stubs[number] { found.append(stub) } }
            tasks.insert(.compareEndpoints)
            if !index.pending.isEmpty { tasks.insert(.prepareEndpoints) }
        }
        return (found, tasks)
    }

    /// Returns the stubs whose patterns match the path of `target`, in any order.
    func patterns(matching target: ReceivedTarget) -> [Stub] {
        var numbers = rooted.stubs(matching: target.components[...])
        if !relative.isEmpty, let components = target.componentsBelowBase {
            numbers += relative.stubs(matching: components)
        }
        return numbers.compactMap { stubs[$0] }
    }

    /// Returns whether a stub for an endpoint of the API `api` was added after the stub `number`.
    func hasEndpoints(for api: any Sendable, newerThan number: Int) -> Bool {
        (endpoints[ObjectIdentifier(type(of: api))]?.newest ?? 0) > number
    }

    /// Returns the stubs for endpoints that ``candidates(for:)`` does not contain.
    func otherStubs(for api: any Sendable, _ original: PreparedRequest?) -> [Stub] {
        let numbers = endpoints[ObjectIdentifier(type(of: api))]?.otherStubs(for: api, original) ?? []
        return numbers.compactMap { stubs[$0] }
    }
}
