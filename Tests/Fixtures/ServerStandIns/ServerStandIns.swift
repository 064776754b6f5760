// Names of frameworks for servers that this package has too.

package struct Request: Sendable {}

package protocol Client: Sendable {}

package protocol Middleware: Sendable {}

package struct Cookie: Sendable {}

package struct MediaType: Sendable {}

package enum HTTPStatus: Sendable {
    case ok
}
