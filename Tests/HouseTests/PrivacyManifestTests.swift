import Foundation
import Testing

/// The privacy manifest, which Apple's stores require of libraries that call certain file functions.
@Suite("Privacy manifest")
struct PrivacyManifestTests {
    @Test("it declares that nothing is collected, and a reason for each kind of function that needs one")
    func contents() throws {
        let url = Repository.here.root.appending(path: "Sources/RequestsPOSIX/PrivacyInfo.xcprivacy")
        let manifest = try #require(
            PropertyListSerialization.propertyList(from: Data(contentsOf: url), format: nil) as? [String: Any])
        #expect(manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyCollectedDataTypes"] as? [Any])?.isEmpty == true)
        let types = try #require(manifest["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
        #expect(!types.isEmpty)
        for type in types {
            #expect((type["NSPrivacyAccessedAPIType"] as? String)?.hasPrefix("NSPrivacyAccessedAPICategory") == true)
            #expect((type["NSPrivacyAccessedAPITypeReasons"] as? [String])?.isEmpty == false)
        }
    }

    @Test("the package includes it on Apple hosts only")
    func inclusion() throws {
        let package = try String(contentsOf: Repository.here.root.appending(path: "Package.swift"), encoding: .utf8)
        // On Linux the lists are those before the first #else.
        let parts = package.split(separator: "#else", maxSplits: 1)
        try #require(parts.count == 2 && parts[0].contains("#if os(Linux)"))
        #expect(parts[0].contains("privacyResources: [Resource] = []"))
        #expect(parts[1].contains("privacyResources: [Resource] = [.copy(privacyManifest)]"))
        #expect(package.contains("resources: privacyResources") && package.contains("exclude: privacyExclusions"))
    }
}
