/// The logins of a `.netrc`, read as curl reads it: which file is read is the caller's business, never the library's.
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

    /// The login for `host`, of `user` where one is asked for.
    func login(for host: String, user: String?) -> Login? {
        logins.first { ($0.host ?? host) == host && (user == nil || $0.login.user == user) }?.login
    }

    private static func words(of line: Substring) -> [String] {
        var words: [String] = []
        var rest = line.drop(while: \.isWhitespace)
        while let first = rest.first {
            if first == "\"" {
                rest.removeFirst()
                words.append(quoted(&rest))
            } else {
                let word = rest.prefix { !$0.isWhitespace }
                words.append(String(word))
                rest = rest.dropFirst(word.count)
            }
            rest = rest.drop(while: \.isWhitespace)
        }
        return words
    }

    private static func quoted(_ rest: inout Substring) -> String {
        let escapes: [Character: Character] = ["n": "\n", "r": "\r", "t": "\t"]
        var word = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.popFirst() {
                word.append(escapes[next] ?? next)
            } else {
                word.append(character)
            }
        }
        return word
    }
}
