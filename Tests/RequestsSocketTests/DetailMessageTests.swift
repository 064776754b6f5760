import Foundation
import Requests
import RequestsHTTP1
import RequestsMiddleware
import RequestsPOSIX
import TestSupport
import Testing

/// Compares the errors behind a `RequestError`, which its detail contains, with `Tests/Fixtures/details.txt`.
///
/// `REQUESTS_RECORD=1` writes that file instead.
@Suite("Messages of details")
struct DetailMessageTests {
    /// A group of errors: the enumeration that declares them, its file, and one error of each case.
    private struct Group: Sendable {
        let name: String
        let file: String
        let texts: KeyValuePairs<String, any CustomStringConvertible & Sendable>
    }

    private static let groups = [wire, limits, files, paths, bodies, parameters, codings]

    private static let wire = Group(
        name: "WireError", file: "RequestsHTTP1/WireError",
        texts: [
            "violation": WireError.violation(.version), "tooLarge": WireError.tooLarge(limit: .head(bytes: 100)),
            "truncated": WireError.truncated(.head),
        ])

    private static let limits = Group(
        name: "WireLimit", file: "RequestsHTTP1/WireLimits",
        texts: [
            "startLine": WireLimit.startLine(bytes: 16384), "fieldLine": WireLimit.fieldLine(bytes: 1),
            "head": WireLimit.head(bytes: 262_144), "fields": WireLimit.fields(count: 2000),
            "interimResponses": WireLimit.interimResponses(count: 20),
            "chunkExtensions": WireLimit.chunkExtensions(bytes: 65536), "trailers": WireLimit.trailers(bytes: 100),
        ])

    private static let files = Group(
        name: "FileError", file: "RequestsPOSIX/FileReader",
        texts: [
            "notRegular": FileError.notRegular(path: "/dev/null"), "invalidPath": FileError.invalidPath,
            "locked": FileError.locked(path: "/tmp/a"), "notPrivate": FileError.notPrivate(path: "/tmp/a"),
            "tooLarge": FileError.tooLarge(path: "/tmp/a", limit: 1), "exists": FileError.exists(path: "/tmp/a"),
            "folderNotPrivate": FileError.folderNotPrivate(path: "/tmp/a"),
            "malformed": FileError.malformed(path: "/tmp/a"),
            "system": FileError.system(SystemError("open", code: ENOENT), path: "/tmp/a\n"),
        ])

    private static let paths = Group(
        name: "PathError", file: "RequestsPOSIX/SocketAddress",
        texts: [
            "empty": SocketAddress.PathError.empty, "containsNUL": SocketAddress.PathError.containsNUL,
            "tooLong": SocketAddress.PathError.tooLong(bytes: 200, limit: 107),
            "abstractNameUnsupported": SocketAddress.PathError.abstractNameUnsupported,
        ])

    private static let bodies = Group(
        name: "BodyError", file: "Requests/Description/Bodies/BodyProvider+BodyError",
        texts: [
            "textNotEncodable": BodyProvider.BodyError.textNotEncodable(.ascii),
            "notAFileURL": BodyProvider.BodyError.notAFileURL(scheme: "http"),
            "notInMemory": BodyProvider.BodyError.notInMemory,
            "invalidBoundary": BodyProvider.BodyError.invalidBoundary,
            "boundaryInContent": BodyProvider.BodyError.boundaryInContent,
            "invalidPartField": BodyProvider.BodyError.invalidPartField,
            "wrongLength": BodyProvider.BodyError.wrongLength(expected: 1, found: 12),
        ])

    private static let parameters = Group(
        name: "ParameterError", file: "Requests/Vocabulary/Parameters/RequestParameters+ParameterError",
        texts: [
            "tooDeeplyNested": RequestParameters.ParameterError.tooDeeplyNested,
            "tooManyValues": RequestParameters.ParameterError.tooManyValues,
            "dateOutOfRange": RequestParameters.ParameterError.dateOutOfRange,
            "withoutNames": RequestParameters.ParameterError.withoutNames,
            "keysWithoutNames": RequestParameters.ParameterError.keysWithoutNames,
            "durationWithoutUnit": RequestParameters.ParameterError.durationWithoutUnit,
            "nullInPropertyList": RequestParameters.ParameterError.nullInPropertyList,
            "controlCharacterInQuery": RequestParameters.ParameterError.controlCharacterInQuery,
        ])

    private static let codings = Group(
        name: "Problem", file: "RequestsMiddleware/Decoding/ContentCodingError",
        texts: [
            "unknown": ContentCodingError(coding: "x-\n", problem: .unknown, offset: 0),
            "tooMany": ContentCodingError(coding: "gzip", problem: .tooMany(limit: 4), offset: 0),
            "damaged": ContentCodingError(coding: "gzip", problem: .damaged("invalid block type"), offset: 12),
            "truncated": ContentCodingError(coding: "br", problem: .truncated, offset: 1),
        ])

    private static let json = ["[", "x", "\"\\ud800\"", String(repeating: "[", count: 2000), "1e999"]

    @Test("each error has the message of the golden file")
    func golden() throws {
        var lines: [String] = []
        for group in Self.groups {
            lines.append("# \(group.name)")
            lines += group.texts.map { "\($0.key): \($0.value)" }
        }
        lines.append("# Violation")
        lines += Violation.allCases.map { "\(WireError.violation($0))" }
        lines.append("# Place")
        lines += WireError.Place.allCases.map { "\(WireError.truncated($0))" }
        lines.append("# JSONValue.SyntaxError")
        lines += try Self.json.map { "\(try #require(JSONValue.SyntaxError.check(Data($0.utf8))))" }
        let differences = try Golden("details.txt").differences(from: lines)
        #expect(differences.isEmpty, "\(differences)")
    }

    @Test("the golden file has every case that the sources declare")
    func complete() throws {
        for group in Self.groups {
            let source = Golden.repository.appending(path: "Sources/\(group.file).swift")
            let text = String(decoding: try Data(contentsOf: source), as: UTF8.self)
            let start = try #require(text.range(of: "enum \(group.name):")).upperBound
            let body = text[start...].split(separator: "\n").dropFirst()
                .prefix { !$0.hasSuffix("}") && !$0.contains("enum ") }
            let declared = body.compactMap { $0.firstMatch(of: /^ +case (\w+)/).map { String($0.1) } }
            #expect(Set(declared) == Set(group.texts.map(\.key)), "\(group.name)")
        }
    }
}
