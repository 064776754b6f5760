// The signatures of swift-log that the adaptors use.

package struct LogEvent: Sendable {
    package var level: Logger.Level
    package var message: Logger.Message
    package var error: (any Error)?
    package var metadata: Logger.Metadata?
}

package protocol LogHandler: Sendable {
    var logLevel: Logger.Level { get set }

    func log(event: LogEvent)
}

package struct Logger: Sendable {
    package enum Level: String, Sendable, Comparable, CaseIterable {
        case trace, debug, info, notice, warning, error, critical

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

        package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    package struct Message: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, CustomStringConvertible,
        Sendable
    {
        package var description: String

        package init(stringLiteral value: String) { description = value }
    }

    package typealias Metadata = [String: MetadataValue]

    package enum MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, Equatable, Sendable {
        case string(String)

        package init(stringLiteral value: String) { self = .string(value) }
    }

    package let label: String
    private var handler: any LogHandler

    package init(label: String, factory: (String) -> any LogHandler) {
        (self.label, handler) = (label, factory(label))
    }

    package var logLevel: Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    package func log(
        level: Level, _ message: @autoclosure () -> Message, error: @autoclosure () -> (any Error)? = nil,
        metadata: @autoclosure () -> Metadata? = nil, source: @autoclosure () -> String? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        guard logLevel <= level else { return }
        handler.log(event: LogEvent(level: level, message: message(), error: error(), metadata: metadata()))
    }
}
