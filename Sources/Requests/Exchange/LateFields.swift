/// The names of the fields that differ between a form of a request and the forms that later middleware makes of it.
final class LateFields: Sendable {
    private let header: Header
    /// Those of an earlier form, which include these.
    private let outer: LateFields?
    /// The names, in an array, because there are few.
    private let names = Lock<[Field.Name]>([])

    /// The number of names from which on all fields count, because a request can be performed without end.
    private static let limit = 64

    init(of header: Header, within outer: LateFields?) {
        self.header = header
        self.outer = outer
    }

    /// Adds the names of the fields in a later form that this one does not have.
    func add(_ later: Header) {
        for field in later where !header.contains(field) {
            names.withLock { names in
                if names.count < Self.limit, !names.contains(field.name) { names.append(field.name) }
            }
        }
        outer?.add(later)
    }

    /// Returns whether a field counts.
    func contains(_ name: Field.Name) -> Bool {
        names.withLock { $0.count >= Self.limit || $0.contains(name) }
    }
}
