/// The logins of a `.netrc`, parsed as curl does.
///
/// The library never reads such a file.
struct CurlNetrc {
    struct Login {
        var user = ""
        var password = ""
    }

    private var logins: [(host: String?, login: Login)] = []

    init(_ text: String) {
        // A macro ends with an empty line.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var isMacro = false
        var words: [String] = []
        for line in lines {
            if isMacro {
                isMacro = !line.isEmpty
            } else if line.hasPrefix("macdef") {
                isMacro = true
            } else {
                words += Self.words(of: line)
            }
        }
        var iterator = words.makeIterator()
        while let word = iterator.next() {
            switch word {
            case "machine": logins.append((iterator.next(), Login()))
            case "default": logins.append((nil, Login()))
            case "login" where !logins.isEmpty: logins[logins.count - 1].login.user = iterator.next() ?? ""
            case "password" where !logins.isEmpty: logins[logins.count - 1].login.password = iterator.next() ?? ""
            default: break
            }
        }
    }

    /// Returns the login for `host`, and for `user` if it is not nil.
    func login(for host: String, user: String?) -> Login? {
        logins.first { ($0.host ?? host) == host && (user == nil || $0.login.user == user) }?.login
    }

    private static func words(of line: Substring) -> [String] {
        var words: [String] = []
        var remainder = line.drop(while: \.isWhitespace)
        while let first = remainder.first {
            if first == "\"" {
                remainder.removeFirst()
                words.append(quoted(&remainder))
            } else {
                let word = remainder.prefix { !$0.isWhitespace }
                words.append(String(word))
                remainder = remainder.dropFirst(word.count)
            }
            remainder = remainder.drop(while: \.isWhitespace)
        }
        return words
    }

    private static func quoted(_ remainder: inout Substring) -> String {
        let escapes: [Character: Character] = ["n": "\n", "r": "\r", "t": "\t"]
        var word = ""
        while let character = remainder.popFirst(), character != "\"" {
            if character == "\\", let next = remainder.popFirst() {
                word.append(escapes[next] ?? next)
            } else {
                word.append(character)
            }
        }
        return word
    }
}
