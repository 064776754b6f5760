package import Requests

extension Corpora {
    package static let curl = load("curl-http-cases.json", as: CurlCases.self)?.cases ?? []
}

package struct CurlCases: Decodable {
    var cases: [CurlCase]
}

/// One of curl's own tests: the client's options, the server's responses, and the expected requests and result.
package struct CurlCase: Decodable, Sendable, CustomStringConvertible {
    package struct Client: Decodable, Sendable {
        package struct Operation: Decodable, Sendable {
            package var url: String
            package var options: [CurlOption]
        }
        package var operations: [Operation]
        package var filesB64: [String: Data]?
    }
    package struct Server: Decodable, Sendable {
        package struct Exchange: Decodable, Sendable {
            package var replyB64: Data
            package var closeAfter: Bool
        }
        package var exchanges: [Exchange]
    }
    package struct Expectation: Decodable, Sendable {
        package struct Request: Decodable, Sendable {
            package var method: String
            package var target: String
            package var headers: [[String]]
            package var framing: String?
            package var bodyB64: Data?

            /// Returns the value of the first field `name`, in any case.
            package func value(of name: String) -> String? {
                headers.first { $0.count == 2 && $0[0].lowercased() == name }?[1]
            }

            /// Whether the whole body is sent; a server that responds early may receive any part of it.
            package var isBodySent: Bool { framing?.contains("not sent") != true }
        }
        package struct Response: Decodable, Sendable {
            package var status: Int?
            package var bodyB64: Data?
            /// The body without its content codings, if the collection contains it.
            package var decodedBodyB64: Data?
        }
        package var outcome: String
        package var errorKind: String?
        package var requests: [Request]
        package var finalResponse: Response?
    }
    package var id: String
    package var name: String
    package var needs: [String]
    /// The authorities that the client contacts, for which the test server stands.
    package var hosts: [String]?
    package var client: Client
    package var server: Server
    package var expect: Expectation

    package var description: String { "\(id) \(name)" }
}

/// An option of a curl command: its name and its value, which is empty for a switch.
package struct CurlOption: Decodable, Sendable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    package init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        name = try list.decode(String.self)
        value = (try? list.decode(String.self)) ?? ""
    }
}
