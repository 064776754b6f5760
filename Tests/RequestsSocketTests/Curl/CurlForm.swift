import Requests
import TestCorpora

/// The form that curl's options describe, as parts of ours.
struct CurlForm {
    private(set) var parts: [MultipartPart] = []
    private let test: CurlCase
    /// Whether quotes are escaped with a backslash, which is not what browsers do.
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

    /// Adds what `name=value` says: text, or files after an `@`; `type=` and `filename=` may follow.
    private mutating func add(_ name: String, _ value: String) {
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
    ) -> MultipartPart {
        let type = settings["type"].flatMap { MediaType($0) }
        let ownName = isFile ? path.split(separator: "/").last.map(String.init) ?? path : nil
        let fileName = settings["filename"] ?? ownName
        if escapesWithBackslash || name.isEmpty {
            var disposition = "form-data"
            if !name.isEmpty { disposition += "; name=\"\(escaped(name))\"" }
            if let fileName { disposition += "; filename=\"\(escaped(fileName))\"" }
            var header: Header = [Field(name: .contentDisposition, value: disposition)]
            let usual = isFile ? MediaType(forFileName: path) : nil
            if let type = type ?? usual { header.add(.contentType(type)) }
            return .part(.bytes(data), header: header)
        }
        guard let fileName else {
            return .text(String(decoding: data, as: UTF8.self), name: name, contentType: type)
        }
        return .data(
            data, name: name, fileName: fileName, contentType: type ?? MediaType(forFileName: path))
    }

    private func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

/// Reads what curl's `--form` has behind a name.
private struct WordReader {
    private var rest: Substring

    init(_ text: Substring) { rest = text }

    mutating func skip(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    /// A word up to `;` or, of a file, `,`; in quotes either may be part of it.
    mutating func word(isFile: Bool) -> String {
        func isPart(_ character: Character) -> Bool { character != ";" && !(isFile && character == ",") }
        guard skip("\"") else {
            let word = rest.prefix(while: isPart)
            rest = rest.dropFirst(word.count)
            return String(word)
        }
        var word = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.first, next == "\\" || next == "\"" {
                word.append(next)
                rest.removeFirst()
            } else {
                word.append(character)
            }
        }
        rest = rest.drop(while: isPart)
        return word
    }

    /// `;type=` and `;filename=`; what else follows a type is a parameter of it.
    mutating func settings(isFile: Bool) -> [String: String] {
        var settings: [String: String] = [:]
        while skip(";") {
            rest = rest.drop { $0 == " " }
            let name = String(rest.prefix { $0 != "=" && $0 != ";" })
            rest = rest.dropFirst(name.count)
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
    /// The parts before and after the first `mark`.
    func cut(at mark: Character) -> (String, String)? {
        guard let place = firstIndex(of: mark) else { return nil }
        return (String(self[..<place]), String(self[index(after: place)...]))
    }
}
