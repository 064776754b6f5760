import Foundation
import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Files as version 1 of each format has them, written out.
///
/// When a format gets another version, these tests stay: they say what happens to the files of the former one.
@Suite("Formats on disk")
struct DiskFormatTests {
    private let folder = TemporaryDirectory()

    private func write(_ bytes: some DataProtocol, to name: String) throws -> String {
        let path = folder.path(of: name)
        try Data(bytes).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    @Test("cookies of version 1 are read")
    func cookies() throws {
        let text = """
            {"cookies":[{"created":1000,"domain":"example.com","expires":3000,"isHTTPOnly":true,
            "isHostOnly":false,"isSecure":true,"lastUsed":1001,"name":"a","path":"/x","sameSite":"Lax","value":"1"}],
            "version":1}
            """
        let store = try CookieStore(
            path: write(Data(text.utf8), to: "cookies"), now: { Date(timeIntervalSince1970: 2000) })
        let cookie = try #require(store.cookies.first)
        #expect(store.cookies.count == 1 && cookie.name == "a" && cookie.value == "1" && cookie.path == "/x")
        #expect(cookie.domain == "example.com" && !cookie.isHostOnly && cookie.isSecure && cookie.isHTTPOnly)
        #expect(cookie.sameSite == .lax && cookie.expires == Date(timeIntervalSince1970: 3000))
        #expect(cookie.created == Date(timeIntervalSince1970: 1000))
        #expect(cookie.lastUsed == Date(timeIntervalSince1970: 1001))
    }

    @Test("cookies of an unknown version are an error, and the file is kept")
    func laterCookies() throws {
        let text = #"{"jar":{},"version":2}"#
        let path = try write(Data(text.utf8), to: "cookies")
        let error = #expect(throws: (any Error).self) { try CookieStore(path: path) }
        #expect("\(try #require(error))".contains("unknown version 2"))
        #expect(try Data(contentsOf: URL(filePath: path)) == Data(text.utf8))
    }

    @Test("a credential of version 1 is read")
    func credential() async throws {
        let text = """
            {"credential":{"access_token":"a","expires_at":32503680000,"id_token":"i","refresh_token":"r","scope":"s",
            "token_type":"Bearer"},"revision":7,"version":1}
            """
        let store = try OAuthCredential.FileStore(path: write(Data(text.utf8), to: "token"))
        let credential = try #require(try await store.load())
        #expect(credential.accessToken == "a" && credential.tokenType == "Bearer" && credential.refreshToken == "r")
        #expect(credential.expiration == Date(timeIntervalSince1970: 32_503_680_000))
        #expect(credential.scope == "s" && credential.idToken == "i")
    }

    @Test(
        "a download resumes at the point in a file of version 1, and starts over with another version",
        arguments: [(#""version":1"#, "bytes=5-"), (#""version":2"#, nil), (#""other":1"#, nil)])
    func resumePoint(version: String, range: String?) async throws {
        _ = try write(Data("hello".utf8), to: "f.partial")
        let point = #"{"length":11,"target":"http://example.com/f","validator":"\"v\"",\#(version)}"#
        _ = try write(Data(point.utf8), to: "f.partial.json")
        let mock = MockExecutor { request in
            guard request.header.contains(.range) else { return .ok("hello world") }
            let part = Field(name: .contentRange, value: "bytes 5-10/11")
            return .status(206, " world").adding(headerField: part).adding(
                headerField: Field(name: .etag, value: "\"v\""))
        }
        let api = AnonymousRequestProvider("http://example.com")
        let url = URL(filePath: folder.path(of: "f"))
        _ = try await mock.resumingDownloads().perform(api.get(.download(to: url), from: "/f"))
        #expect(mock.recordedRequests.map { $0.header[.range] } == [range])
        #expect(try Data(contentsOf: url) == Data("hello world".utf8))
    }

    /// A response in the form of version 1; numbers are little-endian words of 64 bits.
    private var response: [UInt8] {
        func word(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        func text(_ text: String) -> [UInt8] { word(UInt64(text.utf8.count)) + text.utf8 }
        var bytes: [UInt8] = [1, 0]  // a response; its storage, with 0x80 if it must be validated
        bytes += word(200)
        for seconds in [1000.0, 1001.0, 60.0] { bytes += word(seconds.bitPattern) }  // request, response, heuristic
        bytes += word(1) + text("Content-Type") + text("text/plain")
        return bytes + text("hello")
    }

    @Test("a cache entry of version 1 is read, and one of another version is not used and is removed")
    func cacheEntry() async throws {
        // The name and the checksum depend on the key of the folder.
        let name = "17d6d26e31770adc7bf36c6b835ceb9c6040d877976a09f0bd2d532f395767b1.entry"
        let checksum: [UInt8] = [252, 70, 108, 18, 127, 117, 65, 187]
        let file = Array("RQCACHE1".utf8) + name.utf8 + response + checksum
        _ = try write(Array(0..<32), to: "key")
        let store = Caching.DiskStore(folder: folder.path)
        let key = Caching.Key(text: "a key")
        _ = try write(file, to: name)
        #expect(store.entryNow(for: key)?.encoded == response)
        #expect(store.entryNow(for: Caching.Key(text: "another key")) == nil)

        _ = try write(Array("RQCACHE2".utf8) + file.dropFirst(8), to: name)
        #expect(store.entryNow(for: key) == nil)
        #expect(folder.names == ["key"])
    }
}
