package import Foundation
package import Requests
import Testing

/// An exchange with a secret in one place, or with public text that resembles one.
package struct PlantedSecrets: Sendable, CustomStringConvertible {
    /// The secret of every place.
    package static let secret = "hunter2-9f8e7d6c5b4a"

    /// The place of the secret.
    package private(set) var description: String
    package private(set) var request: PreparedRequest
    package private(set) var response: ResponseHead
    package private(set) var body: Data

    private init(
        _ description: String, url: String = "http://127.0.0.1:8180/files/list", header: Header = .empty,
        type: String? = nil, sent: String? = nil, responseHeader: Header = .empty, received: String = ""
    ) {
        self.description = description
        guard let target = try? TargetURI(url) else { fatalError("malformed URL: \(url)") }
        var header = header
        if let type { header.add(Field(name: .contentType, value: type)) }
        request = PreparedRequest(
            method: sent == nil ? .get : .post, target: target, header: header,
            body: sent.map { .bytes(Data($0.utf8)) } ?? .none)
        response = ResponseHead(status: 404, header: responseHeader, target: target)
        body = Data(received.utf8)
    }

    private static let json = Field(name: .contentType, value: "application/json")

    /// A part with `name`, as forms are sent.
    private static func form(_ name: String, _ value: String) -> String {
        "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n--b--\r\n"
    }

    private static func request(_ name: Field.Name, _ value: String) -> PlantedSecrets {
        PlantedSecrets("\(name): \(value)", header: [Field(name: name, value: value)])
    }

    private static func response(_ name: Field.Name, _ value: String) -> PlantedSecrets {
        PlantedSecrets(
            "the response's \(name): \(value)", responseHeader: [json, Field(name: name, value: value)],
            received: "{}")
    }

    private static let basic = Data("vera:\(secret)".utf8).base64EncodedString()

    /// The exchanges whose own text contains the secret.
    package static let places: [PlantedSecrets] =
        [
            request(.authorization, "Bearer \(secret)"), request(.authorization, "Basic \(basic)"),
            request(.authorization, "Digest username=\"vera\", uri=\"/files/list\", response=\"\(secret)\""),
            request(.authorization, "AWS4-HMAC-SHA256 SignedHeaders=host;accept, Signature=\(secret)"),
            request(.authorization, "OAuth oauth_nonce=\"list\", oauth_signature=\"\(secret)\""),
            request(.authorization, "Custom one=\"\(secret)\";two=2"), request(.cookie, "theme=dark; sid=\(secret)"),
            request("PRIVATE-TOKEN", secret), request("X-Access-Token", secret), request("X-Goog-Signature", secret),
            request(.referer, "http://127.0.0.1/?apiKey=\(secret)&page=2"),
            PlantedSecrets("a query item", url: "http://127.0.0.1:8180/files/list?accessToken=\(secret)&page=2"),
            PlantedSecrets("a fragment", url: "http://127.0.0.1:8180/files/list#id_token=\(secret)"),
            PlantedSecrets("a path that repeats a query item", url: "http://127.0.0.1:8180/\(secret)?sig=\(secret)"),
            PlantedSecrets("the userinfo", url: "http://vera:\(secret)@127.0.0.1:8180/files/list"),
            PlantedSecrets(
                "a form", type: "application/x-www-form-urlencoded", sent: "user=vera&newPassword=\(secret)"),
            PlantedSecrets(
                "a nested form", type: "application/x-www-form-urlencoded; charset=utf-8",
                sent: "user%5Bpassword%5D=\(secret)"),
            PlantedSecrets(
                "JSON", type: "application/json", sent: #"{"user":{"clientSecret":"\#(secret)"},"page":2}"#),
            PlantedSecrets("JSON without a type", sent: #"[{"code-verifier": "\#(secret)"}]"#),
            PlantedSecrets(
                "an escaped member", type: "application/json", sent: #"{"\u0070assword":"\#(secret)"}"#),
            PlantedSecrets("a multipart form", type: "multipart/form-data; boundary=b", sent: form("passwd", secret)),
            PlantedSecrets(
                "JSON in a multipart form", type: "multipart/form-data; boundary=b",
                sent: form("data", #"{"jwt":"\#(secret)"}"#)),
            PlantedSecrets(
                "a field of a part", type: "multipart/form-data; boundary=b",
                sent: "--b\r\nX-Access-Token:  \(secret) \r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n"
                    + "\(secret)\r\n--b--\r\n"),
            PlantedSecrets(
                "JSON in a string", type: "application/json", sent: #"{"a":"{\"password\": \"\#(secret)\"}","page":2}"#),
            PlantedSecrets(
                "JSON in a string in a string", type: "application/json",
                sent: #"["{\u0022a\u0022:\u0022{\\\"jwt\\\":\\\"\#(secret)\\\"}\u0022}"]"#),
            PlantedSecrets(
                "JSON in a form", type: "application/x-www-form-urlencoded",
                sent: "payload=%7B%22token%22:+%22\(secret)%22%7D&page=2"),
            PlantedSecrets(
                "XML", type: "text/xml; charset=utf-8",
                sent: "<?xml version='1.0'?><s:Body a='b'><s:Password t=\"x\">\(secret)</s:Password><b/></s:Body>"),
            PlantedSecrets(
                "an attribute", type: "application/soap+xml", sent: "<login user='v' password='\(secret)'/>"),
            PlantedSecrets("XML without a type", sent: "<a><!-- <secret>\(secret)</secret> --></a>"),
            PlantedSecrets(
                "a response of STS", responseHeader: [Field(name: .contentType, value: "text/xml")],
                received: "<R><AccessKeyId>list</AccessKeyId><SessionToken>\(secret)</SessionToken>"
                    + "<SecretAccessKey>\(secret)"),
            response(.location, "http://127.0.0.1/?X-Amz-Security-Token=\(secret)"),
            response(.location, "http://vera:\(secret)@127.0.0.1/"), response(.contentLocation, "/x?sig=\(secret)"),
            response(.link, "<http://127.0.0.1/?private_token=\(secret)>; rel=\"next\""),
            response(.setCookie, "sid=\(secret); Path=/"), response("X-Session-Id", secret),
            PlantedSecrets(
                "a token response", responseHeader: [json],
                received: #"{"token_type":1,"refreshToken":"\#(secret)","id_token": "\#(secret)"}"#),
            PlantedSecrets(
                "a truncated response", responseHeader: [json], received: #"{"a":1,"session_id":"\#(secret)"#),
        ]
        + PlantedSecrets.echoes

    /// The exchanges whose response repeats a secret of the request.
    private static let echoes: [PlantedSecrets] = [
        request(.authorization, "Bearer \(secret)"), request(.cookie, "sid=\(secret)"),
        PlantedSecrets("a form", type: "application/x-www-form-urlencoded", sent: "password=\(secret)"),
        PlantedSecrets("JSON", type: "application/json", sent: #"{"api_key":"\#(secret)"}"#),
        PlantedSecrets(
            "a long form", type: "application/json",
            sent: #"{"a":"\#(String(repeating: "a", count: 20_000))","password":"\#(secret)"}"#),
        PlantedSecrets("the userinfo", url: "http://vera:\(secret)@127.0.0.1:8180/files/list"),
    ].map { planted in
        PlantedSecrets(
            "a response that repeats \(planted)", planted, repeated: "wrong: \(secret)")
    }

    private init(_ description: String, _ planted: PlantedSecrets, repeated text: String) {
        self = planted
        self.description = description
        body = Data(text.utf8)
        response.header = [
            Field(name: .contentType, value: "text/plain; note=\"\(text)\""), Field(name: "X-Echo", value: text),
            Field(name: .wwwAuthenticate, value: "Bearer realm=\"\(text)\""),
        ]
    }

    /// Checks that no text contains the secret, in clear or as Basic credentials.
    package func expectHidden(in outputs: [(name: String, text: String)]) {
        for (name, text) in outputs {
            #expect(!text.contains(Self.secret), "\(description) in \(name): \(text)")
            #expect(
                !text.contains("aHVudGVy") && !text.contains("dmVyYTpodW"), "\(description) in \(name): \(text)")
        }
    }

    // MARK: Public text

    /// Words that every output must show.
    package static let publicWords = ["127.0.0.1:8180", "/accept/realm", "list_objects"]

    /// Exchanges without secrets in their URL, or whose credentials contain words of it.
    package static let publicTexts: [PlantedSecrets] = [
        "Digest username=\"list_objects\", realm=\"/accept/realm\", nonce=\"list_objects\", uri=\"/accept/realm\","
            + " qop=auth, algorithm=accept, cnonce=\"status\", response=\"0123456789abcdef\"",
        "AWS4-HMAC-SHA256 Credential=list_objects/accept/realm, SignedHeaders=accept;host;status;realm,"
            + " Signature=0123456789abcdef",
        "OAuth realm=\"list_objects\", oauth_nonce=\"accept\", oauth_signature=\"0123456789abcdef\"",
        "Basic bGlzdF9vYmplY3RzOjAxMjM0NTY3ODk=", "Bearer list",
    ].map { credentials in
        let scheme = credentials.prefix { $0 != " " }
        return PlantedSecrets(
            "\(scheme)", url: "http://127.0.0.1:8180/accept/realm?\(publicQuery)",
            header: [Field(name: .authorization, value: credentials), Field(name: .cookie, value: "a=8180; b=list")],
            type: "application/json", sent: publicJSON, responseHeader: [json], received: publicJSON)
    }

    /// Items and members with everyday names.
    package static let publicQuery =
        "code=list_objects&state=xyzzy1&id=12345&key=folder1&nextPageToken=cursor1&X-Amz-SignedHeaders=host1"
        + "&max_tokens=77"
    private static let publicJSON = #"""
        {"code":"list_objects","key":"folder1","pageToken":"cursor1","token_type":"Bearer","expires_in":3600,
        "hasPassword":true,"secret":null,"max_tokens":77,"status":"unacceptable status"}
        """#
}
