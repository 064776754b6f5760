// The signatures of swift-log that the adaptors use.

package struct Logger: Sendable {
    package enum Level: String, Sendable {
        case trace, debug, info, notice, warning, error, critical
    }

    package struct Message: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, CustomStringConvertible,
        Sendable
    {
        package var description: String

        package init(stringLiteral value: String) { description = value }
    }

    package typealias Metadata = [String: MetadataValue]

    package enum MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, Sendable {
        case string(String)

        package init(stringLiteral value: String) { self = .string(value) }
    }

    /// The sink of the stand-in, in place of a log handler.
    package let handler: @Sendable (Level, Message, Metadata?) -> Void

    package init(handler: @escaping @Sendable (Level, Message, Metadata?) -> Void) { self.handler = handler }

    package func log(
        level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
        source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function,
        line: UInt = #line
    ) {
        handler(level, message(), metadata())
    }
}
