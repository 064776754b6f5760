/// What an executor did that it promised not to do, or the reverse, with the values that show it.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was expected, what came instead.
    public let message: String

    /// Where in the scenarios this was looked at.
    public let location: String

    /// A failure found at the place of the call.
    public init(_ message: String, file: String = #fileID, line: Int = #line) {
        self.message = message
        location = "\(file):\(line)"
    }

    /// The message and the place.
    public var description: String { "\(message) [\(location)]" }
}

/// Looks at a condition.
func expect(_ condition: Bool, _ what: @autoclosure () -> String, file: String = #fileID, line: Int = #line) throws {
    if !condition { throw ConformanceFailure("not so: \(what())", file: file, line: line) }
}

/// Looks at a value.
func expect<Value: Equatable>(
    _ what: @autoclosure () -> String, _ actual: Value, is expected: Value, file: String = #fileID, line: Int = #line
) throws {
    guard actual != expected else { return }
    throw ConformanceFailure("\(what()) is \(actual), not \(expected)", file: file, line: line)
}

/// Takes a value that should be there.
func need<Value>(
    _ what: @autoclosure () -> String, _ value: Value?, file: String = #fileID, line: Int = #line
) throws -> Value {
    guard let value else { throw ConformanceFailure("\(what()) is missing", file: file, line: line) }
    return value
}

/// Looks at how an operation fails, and gives the error.
@discardableResult
func expectFailure<Value>(
    _ reasons: RequestError.Reason..., file: String = #fileID, line: Int = #line,
    context: String = "", of operation: () async throws -> Value
) async throws -> RequestError {
    let value: Value
    do {
        value = try await operation()
    } catch let error as RequestError {
        if reasons.contains(error.reason) { return error }
        throw ConformanceFailure(
            "\(context) fails with “\(error.reason)”, not “\(reasons[0])”: \(error)", file: file, line: line)
    }
    throw ConformanceFailure("\(context) gives \(value), and should fail with “\(reasons[0])”", file: file, line: line)
}
