import Requests

/// The stubs for endpoints of one API, by the method and the path of their requests.
///
/// All paths belong to requests to one API value. For another value of the same type, the stubs are compared one by
/// one.
struct EndpointIndex {
    private struct Key: Hashable {
        let method: HTTPMethod
        let path: ByteText
    }

    private var numbers: [Key: [Int]] = [:]
    private var keys: [Int: Key] = [:]
    /// The stubs that have not been added to ``numbers``, because they could not be prepared without an API.
    private(set) var pending: Set<Int> = []
    private var all: Set<Int> = []
    /// The number of the stub that was added last, even if it was removed.
    private(set) var newest = 0
    /// The API value for which the paths were determined.
    private var api: (any Sendable)?
    private let areEqual: EndpointMatcher.APIEquality?

    /// Creates an index without stubs, for an API whose values `areEqual` compares.
    init(comparingAPIsBy areEqual: EndpointMatcher.APIEquality?) {
        self.areEqual = areEqual
    }

    mutating func insert(_ number: Int) {
        pending.insert(number)
        all.insert(number)
        newest = number
    }

    mutating func remove(_ number: Int) {
        pending.remove(number)
        all.remove(number)
        if let key = keys.removeValue(forKey: number) { numbers[key]?.removeAll { $0 == number } }
    }

    /// Returns the API value for which the paths are determined: `api`, unless an earlier call has set one.
    mutating func use(_ api: any Sendable) -> any Sendable {
        let used = self.api ?? api
        self.api = used
        return used
    }

    /// Records the request that the stub `number` describes for the API value of ``use(_:)``; nil if it describes none.
    ///
    /// Until then the stub is pending, and a request that arrives meanwhile prepares it too.
    mutating func setRequest(_ request: PreparedRequest?, of number: Int) {
        pending.remove(number)
        guard all.contains(number), keys[number] == nil, let request else { return }
        let key = Key(method: request.method, path: ByteText(request.target.path))
        keys[number] = key
        numbers[key, default: []].append(number)
    }

    /// Returns the numbers of the stubs that describe the method and the path of `request`.
    func stubs(for request: PreparedRequest) -> [Int] {
        numbers[Key(method: request.method, path: ByteText(request.target.path))] ?? []
    }

    /// Returns the numbers of the stubs to compare with a request to `api` that ``stubs(for:)`` did not find.
    ///
    /// - Parameters:
    ///   - api: The API of the request.
    ///   - original: The request before middleware changed it.
    /// - Returns: The stubs for the path of `original`, or all of them if their paths may be others for `api`.
    func otherStubs(for api: any Sendable, _ original: PreparedRequest?) -> [Int] {
        guard let known = self.api, let areEqual, areEqual(known, api) else { return Array(all) }
        return original.map { stubs(for: $0) } ?? []
    }
}
