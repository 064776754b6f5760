import CRequestsPOSIX
@_spi(Lock) internal import Requests

/// The public suffix list of libpsl, which is loaded when the first domain is checked.
package final class PublicSuffixLibrary: Sendable {
    package static let shared = PublicSuffixLibrary(
        SystemLibrary(
            name: "libpsl", files: ["libpsl.so.5"], packages: "libpsl5 (Debian, Ubuntu) or libpsl (Alpine, Fedora)"))

    /// The functions of the library and its list, which is never released.
    private struct List: @unchecked Sendable {  // the library only reads the list once it is loaded
        let functions: rp_psl
        let list: UnsafeMutableRawPointer
    }

    private let library: SystemLibrary
    private let list: Lock<Result<List, SystemLibrary.Failure>?>

    /// Creates a list that loads `library` when it is first needed, and only once.
    package init(_ library: SystemLibrary) {
        self.library = library
        list = Lock(nil)
    }

    /// Returns whether `domain`, in lower case and without a trailing dot, is a public suffix.
    ///
    /// - Throws: `SystemLibrary.Failure` if the library or its list is unavailable.
    package func contains(_ domain: String) throws(SystemLibrary.Failure) -> Bool {
        let list = try loaded().get()
        return domain.withCString { list.functions.is_public_suffix(list.list, $0) == 1 }
    }

    private func loaded() -> Result<List, SystemLibrary.Failure> {
        // The lock is held while the list is loaded, so it is read once.
        list.withLock { list in
            if let list { return list }
            let result = Self.load(library)
            list = result
            return result
        }
    }

    private static func load(_ library: SystemLibrary) -> Result<List, SystemLibrary.Failure> {
        do throws(SystemLibrary.Failure) {
            let functions = try library.load(into: rp_psl()) { handle, table in
                rp_psl_resolve(handle, &table).map { String(cString: $0) }
            }
            guard let list = functions.latest(nil) else {
                throw SystemLibrary.Failure(description: "\(library.name) has no list; install publicsuffix")
            }
            return .success(List(functions: functions, list: list))
        } catch {
            return .failure(error)
        }
    }
}
