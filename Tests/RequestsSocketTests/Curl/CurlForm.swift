import Requests
import TestCorpora

/// The parts of the form that curl options describe.
struct CurlForm {
    private(set) var parts: [MultipartForm.Part] = []
    private let test: CurlCase
    /// Whether quotes are escaped with a backslash, unlike in browsers.
    private let escapesWithBackslash: Bool

    init(_ test: CurlCase, _ operation: CurlCase.Client.Operation) {
        self.test = test
        escapesWithBackslash = operation.options.contains { $0.name == "form-escape" }
        for option in operation.options {
            guard let (name, value) = option.value.cut(at: "=") else { continue }
            switch option.name {
            case "form": add(name, value)
            case "form-string": parts.append(.text(value, name: name))
            default: break
            }
        }
    }

    /// Adds the parts of `name=value`: text, or files after `@`, with optional `type=` and `filename=`.
    private mutating func add(_ name: String, _ value: String) {
        // After `<` the content of a file is text, without a file name.
        if value.hasPrefix("<") {
            var reader = WordReader(value.dropFirst())
            let content = test.client.filesB64?[reader.word(isFile: false)] ?? Data()
            return parts.append(part(content, name: name, reader.settings(isFile: false), isFile: false, path: ""))
        }
        guard value.hasPrefix("@") else {
            var reader = WordReader(value.drop { $0 == " " })
            let text = reader.word(isFile: false)
            return parts.append(
                part(Data(text.utf8), name: name, reader.settings(isFile: false), isFile: false, path: ""))
        }
        var reader = WordReader(value.dropFirst())
        repeat {
            let path = reader.word(isFile: true)
            let content = test.client.filesB64?[path] ?? Data()
            parts.append(part(content, name: name, reader.settings(isFile: true), isFile: true, path: path))
        } while reader.skip(",")
    }

    private func part(
        _ data: Data, name: String, _ settings: [String: String], isFile: Bool, path: String
    ) -> MultipartForm.Part {
        let type = settings["type"].flatMap { MediaType($0) }
        let ownName = isFile ? path.split(separator: "/").last.map(String.init) ?? path : nil
        let filename = settings["filename"] ?? ownName
        if escapesWithBackslash || name.isEmpty {
            var disposition = "form-data"
            if !name.isEmpty { disposition += "; name=\"\(escaped(name))\"" }
            if let filename { disposition += "; filename=\"\(escaped(filename))\"" }
            var header: Header = [Field(name: .contentDisposition, value: disposition)]
            let fileType = isFile ? MediaType(filename: path) : nil
            if let type = type ?? fileType { header.add(.contentType(type)) }
            return .part(.bytes(data), header: header)
        }
        guard let filename else {
            return .text(String(decoding: data, as: UTF8.self), name: name, contentType: type)
        }
        return .data(
            data, name: name, filename: filename, contentType: type ?? MediaType(filename: path))
    }

    private func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

/// A reader for the values of `--form`.
private struct WordReader {
    private var remainder: Substring

    init(_ text: Substring) { remainder = text }

    mutating func skip(_ character: Character) -> Bool {
        guard remainder.first == character else { return false }
        remainder.removeFirst()
        return true
    }

    /// Reads a word up to `;`, or for a file up to `,`.
    ///
    /// A quoted word can contain both.
    mutating func word(isFile: Bool) -> String {
        func isPart(_ character: Character) -> Bool { character != ";" && !(isFile && character == ",") }
        guard skip("\"") else {
            let word = remainder.prefix(while: isPart)
            remainder = remainder.dropFirst(word.count)
            return String(word)
        }
        var word = ""
        while let character = remainder.popFirst(), character != "\"" {
            if character == "\\", let next = remainder.first, next == "\\" || next == "\"" {
                word.append(next)
                remainder.removeFirst()
            } else {
                word.append(character)
            }
        }
        remainder = remainder.drop(while: isPart)
        return word
    }

    /// Reads `;type=` and `;filename=`.
    ///
    /// Other names are parameters of the type.
    mutating func settings(isFile: Bool) -> [String: String] {
        var settings: [String: String] = [:]
        while skip(";") {
            remainder = remainder.drop { $0 == " " }
            let name = String(remainder.prefix { $0 != "=" && $0 != ";" })
            remainder = remainder.dropFirst(name.count)
            let value = skip("=") ? word(isFile: isFile) : ""
            if name == "type" || name == "filename" {
                settings[name] = value
            } else {
                settings["type", default: "text/plain"] += ";\(name)=\(value)"
            }
        }
        return settings
    }
}

extension String {
    /// Returns the parts before and after the first `separator`.
    func cut(at separator: Character) -> (String, String)? {
        guard let index = firstIndex(of: separator) else { return nil }
        return (String(self[..<index]), String(self[self.index(after: index)...]))
    }
}
