import Requests
import TestCorpora
import TestSupport
import Testing

/// `é` as one scalar and as two scalars is the same `String`, but not the same octets.
@Suite("Comparison octet by octet")
struct OctetComparisonTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    private func expectDifferent<Value: Hashable>(
        _ make: (String) throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
    ) rethrows {
        let (one, other) = (try make(Self.composed), try make(Self.decomposed))
        #expect(one != other && Set([one, other]).count == 2, sourceLocation: sourceLocation)
        let copy = try make(String(decoding: Array(Self.composed.utf8), as: UTF8.self))
        #expect(one == copy && one.hashValue == copy.hashValue, sourceLocation: sourceLocation)
    }

    @Test("canonically equivalent values are not equal", .rows("RQ-18", "R-75"))
    func values() throws {
        expectDifferent { EntityTag($0) }
        expectDifferent { EntityTag.Condition.tags([EntityTag($0)]) }
        expectDifferent { Field(name: "A", value: $0) }
        expectDifferent { Header(Field(name: "A", value: $0)) }
        expectDifferent { ["a": $0] as FieldParameters }
        expectDifferent { [$0: "a"] as FieldParameters }
        expectDifferent { ContentDisposition.attachment(filename: $0) }
        expectDifferent { WebLink($0, relation: "next") }
        expectDifferent { WebLink("/", relation: $0) }
        expectDifferent { AuthenticationChallenge(scheme: "A", parameters: ["realm": $0]) }
        expectDifferent { AuthenticationChallenge(scheme: "A", token68: $0) }
        expectDifferent { FieldParameters.ExtendedValue(text: $0) }
        expectDifferent { CacheControl(fieldValue: "a=\"\($0)\"") }
        expectDifferent { CaseInsensitiveString($0) }
        expectDifferent { Field.Name($0) }
        try expectDifferent { try Cookie(name: "a", value: $0) }
        let tag = EntityTag(Self.composed)
        #expect(!tag.matchesStrongly(EntityTag(Self.decomposed)) && !tag.matchesWeakly(EntityTag(Self.decomposed)))
        #expect(!WebLink("/", relation: Self.composed).hasRelation(Self.decomposed))
    }

    @Test("names that differ only in ASCII case are equal and have equal hash values", .rows("RQ-18", "RQ-19"))
    func names() {
        func expectEqual<Value: Hashable>(_ one: Value, _ other: Value) {
            #expect(one == other && one.hashValue == other.hashValue)
        }
        expectEqual(["A-b": "x"] as FieldParameters, ["a-B": "x"])
        expectEqual(AuthenticationChallenge(scheme: "BASIC"), AuthenticationChallenge(scheme: "basic"))
        expectEqual(ContentDisposition("Inline"), ContentDisposition("inline"))
        expectEqual(
            FieldParameters.ExtendedValue(text: "x", language: "EN"),
            FieldParameters.ExtendedValue(text: "x", language: "en"))
        expectEqual(CacheControl(fieldValue: "No-Store, A=b"), CacheControl(fieldValue: "no-store, a=b"))
        expectEqual(Field(name: "ETag", value: "x"), Field(name: "etag", value: "x"))
        #expect(["a": "X"] as FieldParameters != ["a": "x"])
    }

    @Test("case folding and hashing agree for every octet and length", .rows("RQ-19"))
    func folding() {
        var generator = SplitMix64(state: 19)
        for length in 0...40 {
            for _ in 0..<50 {
                let octets = (0..<length).map { _ in UInt8.random(in: 0x01...0x7F, using: &generator) }
                let text = String(decoding: octets, as: UTF8.self)
                let flipped = octets.map { octet in
                    (0x41...0x5A).contains(octet) ? octet + 0x20 : (0x61...0x7A).contains(octet) ? octet - 0x20 : octet
                }
                let (one, other) = (
                    CaseInsensitiveString(text), CaseInsensitiveString(String(decoding: flipped, as: UTF8.self))
                )
                #expect(one == other && one.hashValue == other.hashValue)
                guard let place = octets.indices.randomElement(using: &generator) else { continue }
                var changed = octets
                changed[place] ^= 0x20
                let isLetter = (0x61...0x7A).contains(octets[place] | 0x20)
                let third = CaseInsensitiveString(String(decoding: changed, as: UTF8.self))
                #expect((one == third) == isLetter && (one.hashValue == third.hashValue) == isLetter)
            }
        }
    }
}
