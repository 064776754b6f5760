import Requests
import TestCorpora

extension Corpora {
    static let url = load("url.json", as: URLCases.self)
    static let mimeTypes = load("mime-types.json", as: MIMETypeCases.self)
    static let httpDates = load("http-dates.json", as: HTTPDateCases.self)
    static let challenges = load("auth.json", as: ChallengeCases.self)
    static let credentials = load("auth.json", as: CredentialCases.self)
    static let multipart = load("multipart.json", as: MultipartCases.self)
}

struct MIMETypeCases: Decodable {
    struct Case: Decodable {
        var input: String
        var serialized: String?
    }
    var cases: [Case]
}

struct HTTPDateCases: Decodable {
    struct Case: Decodable {
        var input: String
        var expect: Int?
        /// The reading of curl, which accepts much more than a date of HTTP.
        var curl: Int?
        var now: Double?
        var either: Bool?
    }
    struct Printed: Decodable {
        var seconds: Int
        var imfFixdate: String
    }
    var mustParse: [Case]
    var format: [Printed]
    var mustNotParseStrict: [Case]
    var curlLenient: [Case]
}

struct ChallengeCases: Decodable {
    struct Case: Decodable {
        struct Challenge: Decodable {
            var scheme: String
            var params: [String: String]
        }
        var name: String
        var headers: [String]
        var challenges: [Challenge]
    }
    var challenges: [Case]
}

struct CredentialCases: Decodable {
    struct Basic: Decodable {
        var user: String
        var password: String
        var header: String?
    }
    struct Bearer: Decodable {
        var token: String
        var header: String?
        var mustRefuse: Bool?
    }
    var basic: [Basic]
    var bearer: [Bearer]
}

struct MultipartCases: Decodable {
    struct Part: Decodable {
        var name: String
        var value: String?
        var filename: String?
        var contentType: String?
        var contentB64: String?
    }
    struct Case: Decodable {
        var name: String
        var parts: [Part]
        var boundary: String
        var bodyB64: String
        var textValueNewlinesNormalised: Bool
    }
    var serialize: [Case]
}

struct URLCases: Decodable {
    struct Resolution: Decodable {
        struct Case: Decodable {
            var reference: String
            var result: String
        }
        var base: String
        var cases: [Case]
    }

    /// The results of resolving a reference in a browser and by RFC 3986.
    struct BrowserCase: Decodable {
        enum Agreement: Decodable {
            case same
            case other(String)

            init(from decoder: any Decoder) throws {
                let text = try? decoder.singleValueContainer().decode(String.self)
                self = text == "same" ? .same : .other(text ?? "another result")
            }
        }
        var input: String
        var base: String?
        var href: String?
        var host: String?
        var failure: Bool?
        var rfc3986: Agreement?
    }

    struct Escaping: Decodable {
        var input: String
        var queryUtf8: String
    }

    struct Form: Decodable {
        var pairs: [[String]]
        var serialized: String
    }

    struct Query: Decodable {
        var pairs: [[String]]?
        var nested: JSONValue?
        var query: String
        var style: String
    }

    var urlencodedSerialize: [Form]
    var queryStyles: [Query]
    var rfc3986Resolution: Resolution
    var wptResolution: [BrowserCase]
    var percentEncodingQuery: [Escaping]
}
