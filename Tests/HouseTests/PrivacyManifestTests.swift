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

    /// Functions that need a reason, by category, as far as code that calls the system or Foundation can use them.
    private static let functions = [
        "FileTimestamp": [
            "stat(", "fstat(", "fstatat(", "lstat(", "getattrlist", "fgetattrlist", "creationDate", "modificationDate",
            "creationDateKey", "contentModificationDateKey", "attributesOfItem(",
        ],
        "SystemBootTime": ["systemUptime", "mach_absolute_time("],
        "DiskSpace": [
            "statfs(", "fstatfs(", "statvfs(", "fstatvfs(", "volumeAvailableCapacity", "systemFreeSize", "systemSize",
            "attributesOfFileSystem(",
        ],
        "UserDefaults": ["UserDefaults"],
        "ActiveKeyboards": ["activeInputModes"],
    ]

    @Test("it declares exactly the kinds of functions that the libraries call")
    func completeness() throws {
        let manifest = try Repository.here.text(of: "Sources/RequestsPOSIX/PrivacyInfo.xcprivacy")
        let programs: Set = ["requests-bench", "RequestsBench", "requests-bench-client", "requests-tour"]
        let sources = try Repository.here.swiftFiles(in: "Sources").filter { !programs.contains($0.target) }
        let code = try (sources + Repository.here.headers()).flatMap { SourceText($0).lines }
        for (category, functions) in Self.functions {
            let isCalled = code.contains { line in functions.contains { Self.calls($0, in: line) } }
            #expect(manifest.contains("NSPrivacyAccessedAPICategory\(category)<") == isCalled, "\(category)")
        }
    }

    /// Returns whether `line` contains `function` as a whole word.
    private static func calls(_ function: String, in line: String) -> Bool {
        // A search for text is faster than one for all ranges.
        line.contains(function)
            && line.ranges(of: function).contains { range in
                line[..<range.lowerBound].last.map { !$0.isLetter && !$0.isNumber && $0 != "_" } ?? true
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
