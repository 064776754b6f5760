import RequestsSocket
import TestSupport
import Testing

@Suite("Proxies of the environment")
struct ProxyEnvironmentTests {
    private typealias Proxies = SocketExecutor.ProxyConfiguration

    @Test("variables name the proxy of each scheme, lower case first", .rows("R-51"))
    func variables() throws {
        #expect(try Proxies.environment([:]) == nil)
        #expect(try Proxies.environment(["HTTP_PROXY": ""]) == nil)
        let both = try #require(
            try Proxies.environment(["http_proxy": "http://a:1", "HTTP_PROXY": "http://b:2", "HTTPS_PROXY": "c:3"]))
        #expect(both.http == .init(host: "a", port: 1) && both.https == .init(host: "c", port: 3))
        let all = try #require(try Proxies.environment(["ALL_PROXY": "socks5h://s", "https_proxy": "https://t"]))
        #expect(all.http == .init(scheme: .socks5, host: "s", port: 1080))
        #expect(all.https == .init(scheme: .https, host: "t", port: 443))
    }

    @Test("the userinfo of a proxy becomes its credentials, decoded", .rows("R-51"))
    func userinfo() throws {
        let proxies = try #require(try Proxies.environment(["http_proxy": "http://us%40er:p%3Aw@h:8080/"]))
        #expect(proxies.http == .init(host: "h", port: 8080, authorization: .basic(username: "us@er", password: "p:w")))
        #expect(proxies.https == nil)
    }

    @Test("hosts of NO_PROXY are excluded with the names below them, addresses and ranges", .rows("R-51"))
    func exclusions() async throws {
        let list =
            "example.com, .example.org *.example.net,10.0.0.0/8,192.0.2.7,fd00::/8,0:0::0001,[::2],localhost,,a..b/c"
        let proxies = try #require(try Proxies.environment(["http_proxy": "http://p:1", "no_proxy": list]))
        let proxy = try #require(proxies.http)
        let excluded = [
            "example.com", "a.example.com", "example.org", "b.example.org", "a.example.net", "10.1.2.3", "192.0.2.7",
            "[fd12::1]", "[::1]", "[::2]", "localhost", "example.com.",
        ]
        for host in excluded { #expect(!proxy.serves(host), "\(host)") }
        for host in ["badexample.com", "example.com.test", "11.0.0.1", "192.0.2.70", "[fe80::1]", "[::3]", "b"] {
            #expect(proxy.serves(host), "\(host)")
        }
        #expect(try Proxies.environment(["http_proxy": "http://p:1", "NO_PROXY": "a,*"]) == nil)
    }

    @Test(
        "NO_PROXY is separated by commas and white space, and its hosts have one canonical form", .rows("R-51"),
        arguments: ["no_proxy", "NO_PROXY"])
    func spellings(variable: String) throws {
        let list = "A.example.\t.B.Example,\tbücher.test \n0::0:1,c.example:8080,[::2]:81\r\n*.D.example."
        let proxies = try #require(try Proxies.environment(["http_proxy": "http://p:1", variable: list]))
        let proxy = try #require(proxies.http)
        for host in [
            "a.example", "x.a.example", "b.example", "x.b.example", "xn--bcher-kva.test", "x.xn--bcher-kva.test",
            "[::1]",
            "d.example", "x.d.example.",
        ] { #expect(!proxy.serves(host, port: 80), "\(host)") }
        for (host, port) in [("c.example", 8080), ("x.c.example", 8080), ("[::2]", 81)] {
            #expect(!proxy.serves(host, port: port))
            #expect(proxy.serves(host, port: 80))
        }
        #expect(proxy.serves("example", port: 80) && proxy.serves("test", port: 80))
    }

    @Test("HTTP_PROXY is ignored in a CGI program, in which a client can set it", .rows("R-51"))
    func commonGateway() throws {
        let variables = ["HTTP_PROXY": "http://evil:1", "REQUEST_METHOD": "GET"]
        #expect(try Proxies.environment(variables) == nil)
        #expect(try Proxies.environment(variables.merging(["http_proxy": "a:1"]) { $1 })?.http?.host == "a")
    }

    @Test("a value that is not a proxy URL is an error without the value", .rows("R-74"))
    func invalid() {
        for text in [
            "ftp://secret:hidden@h", "http://", "http://secret:hidden@", "socks4://h", "http://h:99999", "a b",
        ] {
            let error = #expect(throws: RequestError.self) { try Proxies.environment(["https_proxy": text]) }
            #expect(error?.reason == .invalidRequest(.invalidProxy), "\(text)")
            #expect(error?.debugDescription.contains("hidden") == false)
            #expect(error?.detail == "the variable https_proxy is not the URL of a proxy")
        }
    }
}
