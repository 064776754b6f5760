/// The failure of a scenario: an executor did not keep a guarantee.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The expected value and the actual one.
    public let message: String

    /// The file and line of the check.
    public let location: String

    /// Creates a failure located at the place of the call.
    public init(_ message: String, file: String = #fileID, line: Int = #line) {
        self.message = message
        location = "\(file):\(line)"
    }

    /// The message and the file and line.
    public var description: String { "\(message) [\(location)]" }
}

/// Checks a condition.
func expect(_ condition: Bool, _ what: @autoclosure () -> String, file: String = #fileID, line: Int = #line) throws {
    if !condition { throw ConformanceFailure("expectation failed: \(what())", file: file, line: line) }
}

/// Checks that a value is equal to the expected one.
func expect<Value: Equatable>(
    _ what: @autoclosure () -> String, _ actual: Value, is expected: Value, file: String = #fileID, line: Int = #line
) throws {
    guard actual != expected else { return }
    throw ConformanceFailure("\(what()): expected \(expected), found \(actual)", file: file, line: line)
}

/// Returns a value that must not be nil.
func need<Value>(
    _ what: @autoclosure () -> String, _ value: Value?, file: String = #fileID, line: Int = #line
) throws -> Value {
    guard let value else { throw ConformanceFailure("\(what()) is missing", file: file, line: line) }
    return value
}

/// Checks that an operation fails with one of `reasons`, and returns the error.
@discardableResult
func expectFailure<Value>(
    _ reasons: RequestError.Reason..., file: String = #fileID, line: Int = #line,
    context: String = "", of operation: () async throws -> Value
) async throws -> RequestError {
    let prefix = context.isEmpty ? "" : "\(context): "
    let expected = reasons.map { "“\($0)”" }.joined(separator: " or ")
    let value: Value
    do {
        value = try await operation()
    } catch let error as RequestError {
        if reasons.contains(error.reason) { return error }
        throw ConformanceFailure(
            "\(prefix)expected the error \(expected), got “\(error.reason)”: \(error)", file: file, line: line)
    }
    throw ConformanceFailure("\(prefix)expected the error \(expected), got \(value)", file: file, line: line)
}
