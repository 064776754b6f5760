extension Corpora {
    package static let cache = load("cache.json", as: CacheCases.self)?.cases ?? []
}

package struct CacheCases: Decodable {
    var cases: [CacheCase]
}

/// A sequence of requests to one resource through an empty cache, and what each must result in.
package struct CacheCase: Decodable, Sendable, CustomStringConvertible {
    package enum Kind: String, Decodable, Sendable, CaseIterable {
        case required, optimal, check
    }

    /// A value that may depend on the time or the URL of the case.
    package enum Value: Decodable, Sendable {
        case text(String)
        case number(Int)
        case date(fromServerNow: Int)
        case previousDate(fromServerNow: Int)
        case resource(plus: String)

        private struct Relative: Decodable {
            var dateFromServerNow: Int?
            var dateFromPreviousServerNow: Int?
            var sameResourcePlus: String?
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                let relative = try container.decode(Relative.self)
                if let seconds = relative.dateFromServerNow {
                    self = .date(fromServerNow: seconds)
                } else if let seconds = relative.dateFromPreviousServerNow {
                    self = .previousDate(fromServerNow: seconds)
                } else {
                    self = .resource(plus: relative.sameResourcePlus ?? "")
                }
            }
        }
    }

    /// A name, or a name with a value, or with an operator and an operand.
    package struct Field: Decodable, Sendable {
        package var name: String
        package var operation: String?
        package var value: Value?

        private struct Options: Decodable {
            var checkedInReply: Bool?
        }

        package init(from decoder: any Decoder) throws {
            if let name = try? decoder.singleValueContainer().decode(String.self) {
                self.name = name
                return
            }
            var list = try decoder.unkeyedContainer()
            name = try list.decode(String.self)
            guard !list.isAtEnd else { return }
            let second = try list.decode(Value.self)
            if case .text(let text) = second, text == ">" || text == "=", !list.isAtEnd {
                operation = text
                value = try list.decode(Value.self)
            } else {
                value = second
                if !list.isAtEnd { _ = try list.decode(Options.self) }
            }
        }
    }

    package struct Step: Decodable, Sendable {
        package struct Request: Decodable, Sendable {
            package var method: String
            package var headers: [Field]?
            package var body: String?
            package var pathSuffix: String?
            package var query: String?
            package var fetchCacheMode: String?
        }
        package struct Answer: Decodable, Sendable {
            package var status: Int?
            package var headers: [Field]?
            package var body: String?
            package var ifValidatorMatchesPrevious: Int?
            package var disconnectInsteadOfAnswering: Bool?
            package var delaySeconds: Int?
        }
        package struct Expectation: Decodable, Sendable {
            package var originContacted: Bool?
            package var status: Int?
            package var body: String?
            package var responseHeaders: [Field]?
            package var responseHeadersMissing: [Field]?
            package var requestHas: [String]?
            package var originSeesHeaders: [Field]?
            package var originSeesMethod: String?
        }
        package var request: Request
        package var originWouldAnswer: Answer?
        package var expect: Expectation?
        package var thenAdvanceClockSeconds: Int?
    }

    package var id: String
    package var kind: Kind
    package var steps: [Step]

    package var description: String { id }
}
