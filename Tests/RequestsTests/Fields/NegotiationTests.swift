import Requests
import TestSupport
import Testing

@Suite("Accept, Accept-Language and User-Agent")
struct NegotiationTests {
    @Test(
        "Accept has decreasing qualities, never below 0.1, and keeps explicit qualities",
        .rows("PM-65", "T-30", "T-31", "T-32"),
        arguments: [
            (
                ["application/json", "text/plain", "text/html", "*/*"],
                "application/json, text/plain;q=0.9, text/html;q=0.8, */*;q=0.7"
            ),
            (
                ["text/plain;q=0.5", "text/html;level=1", "text/html;level=2;q=0.2", "application/json"],
                "text/plain;q=0.5, text/html;level=1;q=0.9, text/html;level=2;q=0.2, application/json;q=0.8"
            ),
            (
                (1...15).map { "a/t\($0)" },
                "a/t1, " + (1...9).map { "a/t\($0 + 1);q=0.\(10 - $0)" }.joined(separator: ", ")
                    + (11...15).map { ", a/t\($0);q=0.1" }.joined()
            ),
            (["a/b;q=1;x=\"y z\"", "c/d"], "a/b;x=\"y z\";q=1, c/d;q=0.9"), ([], ""),
        ])
    func accept(types: [String], value: String) throws {
        #expect(types.compactMap(MediaType.init).acceptValue == value)
    }

    @Test("Accept lists the decoder's types unless the request sets it", .rows("PM-65", "T-32"))
    func acceptOfRequest() throws {
        let decoder = ResponseDecoder<Data>(accepting: [.json, .xml]) { _, data in data }
        let api = AnonymousRequestProvider.example
        let generated = try api.get(decoder, from: "/x").prepared().header[.accept]
        #expect(generated == "application/json, application/xml;charset=utf-8;q=0.9")
        let byHand = api.get(decoder, from: "/x").setting(headerField: .accept([.png, .gif]))
        #expect(try byHand.prepared().header[.accept] == "image/png, image/gif;q=0.9")
    }

    @Test("Accept-Language has at most six languages, the last with a quality of 0.5", .rows("AF-4", "T-77", "L16"))
    func languages() {
        #expect(
            Field.acceptLanguages(["en", "fr", "de", "it", "es", "pt", "ja"]).value
                == "en, fr;q=0.9, de;q=0.8, it;q=0.7, es;q=0.6, pt;q=0.5")
        #expect(Field.acceptLanguages([]).value.isEmpty && Field.acceptLanguages(["en-GB"]).value == "en-GB")
    }

    @Test(
        "User-Agent has PMHTTP's or AFNetworking's form, from explicit values and in ASCII",
        .rows("PM-12", "AF-5", "C22", "L16"))
    func userAgent() {
        var agent = UserAgent(
            name: "Žlutý Kůň", version: "1.2", build: "345", device: "iPhone16,1", system: "iOS", systemVersion: "18.2",
            locale: "cs_CZ", scale: 3)
        #expect(
            agent.pmhttpFieldValue
                == "Zluty Kun 1.2 rv:345 (device_model:iPhone16,1; system_os:iOS; system_version:18.2; cs_CZ)")
        #expect(agent.afnetworkingFieldValue == "Zluty_Kun/1.2 (iPhone16,1; iOS 18.2; Scale/3.00)")
        #expect(agent.productFieldValue == "Zluty_Kun/1.2")
        agent = UserAgent(
            name: "straße\r\nX: y", version: "", build: "", device: "a(b)", system: "日本", systemVersion: "1",
            scale: .nan)
        #expect(agent.afnetworkingFieldValue == "strasse__X__y/_ (a\\(b\\); ?? 1; Scale/0.00)")
        for system in ["macOS", "watchOS", "Linux"] {
            agent = UserAgent(name: "App", version: "1.2", system: system, systemVersion: "9.1")
            #expect(agent.afnetworkingFieldValue == "App/1.2 (\(system) 9.1)")
        }
        let own = UserAgent()
        #expect(!own.productFieldValue.hasPrefix("/") && own.afnetworkingFieldValue.contains(UserAgent.currentSystem))
        #expect(Field.userAgent(own.pmhttpFieldValue).value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }

    @Test("a header is a collection that can be changed by position and by name", .rows("PM-31"))
    func collection() {
        var header = Header(minimumCapacity: 4)
        header.reserveCapacity(8)
        #expect(header.popFirst() == nil && header.updateValue("1", of: "A") == nil)
        header.add([Field(name: "B", value: "2"), Field(name: "a", value: "3")])
        #expect(header.firstIndex(of: "b") == 1 && header.updateValue("4", of: "a") == "1,3")
        #expect(header.remove(at: 1).value == "2" && header.popFirst() == Field(name: "A", value: "4"))
        #expect(header.isEmpty && header.firstIndex(of: "a") == nil)
        header = ["B": "1", "b": "2", "C": "3"]
        header["D"] = "4"
        #expect(header.remove("b")?.value == "1,2" && header.remove("b") == nil && header["B"] == nil)
        #expect(header.count == 2 && header.map(\.name) == ["C", "D"] && header["c"] == "3")
        header.removeAll { _ in true }
        #expect(header == [])
    }
}
