internal import RequestsPOSIX

extension CookieJar {
    /// The domains below which anyone can register a name, such as `com` and `co.uk`.
    ///
    /// A cookie of such a domain would be sent to the hosts of strangers, so a jar accepts none (RFC 6265bis §5.7).
    public struct PublicSuffixes: Sendable {
        private let function: @Sendable (String) -> Bool

        /// Creates a set from a function.
        ///
        /// - Parameter contains: A function that returns whether a domain, in lower case, ASCII and without a dot at
        ///   its ends, is a public suffix. It is called for each cookie with a domain while the store of the jar is
        ///   locked, so it must return quickly and not use that store.
        public init(_ contains: @escaping @Sendable (String) -> Bool) {
            function = contains
        }

        /// Creates a set from a text in the format of publicsuffix.org: one rule in each line, with `*.` for any label,
        /// `!` for an exception, and `//` for a comment.
        ///
        /// Names outside ASCII are converted to Punycode. A top-level domain that has no rule is a public suffix.
        public init(list: String) {
            let rules = SuffixRules(list)
            function = { rules.contains($0) }
        }

        /// The list of the system's libpsl, which is loaded for the first cookie with a domain; ``conservative`` if it
        /// is unavailable.
        public static var system: PublicSuffixes {
            PublicSuffixes { domain in
                do throws(SystemLibrary.Failure) {
                    return try PublicSuffixLibrary.shared.contains(domain)
                } catch {
                    return SuffixGuess.contains(domain)
                }
            }
        }

        /// A rule for systems without a list, which regards too many domains as public suffixes rather than too few.
        ///
        /// It covers all top-level domains. Below a top-level domain of two letters, it also covers each domain whose
        /// first label has at most three letters or is one such as `gouv`: `co.uk`, but also `bbc.uk`. Cookies of these
        /// domains are rejected unless the host itself sets them. The rule does not know the suffixes of hosting
        /// services such as `github.io`; programs that visit hosts of strangers need a list.
        public static var conservative: PublicSuffixes { PublicSuffixes { SuffixGuess.contains($0) } }

        /// Returns whether `domain` is a public suffix; a dot at its end is ignored.
        package func contains(_ domain: String) -> Bool {
            let isRooted = domain.utf8.last == UInt8(ascii: ".")
            return function(ASCIIFolding.folded(String(domain.droppingLastBytes(isRooted ? 1 : 0))))
        }
    }
}

/// The rule of ``CookieJar/PublicSuffixes/conservative``.
enum SuffixGuess {
    static func contains(_ domain: String) -> Bool {
        let labels = domain.splitBytes(at: ".", omittingEmptySubsequences: false)
        guard labels.count == 2 else { return labels.count < 2 }
        guard labels[1].utf8.count == 2 else { return false }
        return labels[0].utf8.count <= 3 || longLabels.contains { labels[0].hasSameBytes(as: $0) }
    }

    /// Labels with more than three letters that are public suffixes in several countries.
    private static let longLabels = [
        "asso", "coop", "firm", "gouv", "govt", "health", "idf", "info", "maori", "museum", "name", "nom", "parliament",
        "police", "school", "store", "web",
    ]
}
