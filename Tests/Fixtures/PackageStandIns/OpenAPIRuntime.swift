package import Requests

// The signatures of swift-openapi-runtime that the adaptors use.

package protocol ClientTransport: Sendable {
    func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

package enum IterationBehavior: Sendable {
    case single, multiple
}

package final class HTTPBody: AsyncSequence, Sendable {
    package typealias ByteChunk = ArraySlice<UInt8>
    package typealias Element = ByteChunk

    package enum Length: Sendable, Equatable {
        case unknown
        case known(Int64)
    }

    package let length: Length
    package let iterationBehavior: IterationBehavior
    private let make: @Sendable () -> Iterator

    package init<Bytes: AsyncSequence & Sendable>(
        _ sequence: Bytes, length: Length, iterationBehavior: IterationBehavior
    ) where Bytes.Element == ByteChunk {
        (self.length, self.iterationBehavior) = (length, iterationBehavior)
        make = {
            var iterator = sequence.makeAsyncIterator()
            return Iterator { try await iterator.next(isolation: #isolation) }
        }
    }

    package func makeAsyncIterator() -> Iterator { make() }

    package struct Iterator: AsyncIteratorProtocol {
        let produce: () async throws -> ByteChunk?

        package mutating func next() async throws -> ByteChunk? { try await produce() }
    }
}
