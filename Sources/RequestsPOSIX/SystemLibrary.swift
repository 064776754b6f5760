import CRequestsPOSIX

/// A shared library of the system that is loaded when the program first needs it, and never unloaded.
///
/// A library that needs another one, such as libssl, which needs libcrypto of the same version, has a separate
/// description.
package struct SystemLibrary: Sendable {
    /// The name of the library in messages, such as `libcrypto`.
    package let name: String
    /// The names or paths to try, the preferred one first.
    package let files: [String]
    /// The packages that contain the library, as a phrase.
    package let packages: String

    /// Creates the description of a library; nothing is loaded.
    package init(name: String, files: [String], packages: String) {
        self.name = name
        self.files = files
        self.packages = packages
    }

    package struct Failure: Error, Sendable, CustomStringConvertible {
        /// The failure of each file and the packages to install, in one line.
        package let description: String
    }

    /// Returns whether this process has already loaded a library with one of the names or paths in `files`.
    ///
    /// If it has, other code may have initialized the library.
    package static func isLoaded(anyOf files: [String]) -> Bool {
        files.contains { rp_library_is_loaded($0) == 1 }
    }

    /// Loads the first file that has every function of a table, and returns the table.
    ///
    /// A file that lacks a function is closed again: a table is complete, or there is none.
    ///
    /// - Parameters:
    ///   - table: An empty table.
    ///   - resolve: A function that fills the table, and returns the name of a missing function or nil.
    /// - Returns: The complete table.
    /// - Throws: ``Failure`` with the reason for each file.
    package func load<Table>(
        into table: Table, _ resolve: (UnsafeMutableRawPointer, inout Table) -> String?
    ) throws(Failure) -> Table {
        var problems: [String] = []
        for file in files {
            guard let library = rp_library_open(file) else {
                problems.append(rp_library_error().map { String(cString: $0) } ?? "could not open \(file)")
                continue
            }
            var table = table
            guard let missing = resolve(library, &table) else { return table }
            rp_library_close(library)
            problems.append("\(file) has no function \(missing)")
        }
        throw Failure(
            description: "could not load \(name): \(problems.joined(separator: "; ")); install \(packages)")
    }
}
