/// The names of the fields that differ between a form of a request and the forms that later middleware makes of it.
final class LateFields: Sendable {
    private let header: Header
    /// Those of an earlier form, which include these.
    private let outer: LateFields?
    private let names = Lock<Set<Field.Name>>([])

    /// The number of names beyond which all fields count, because a request can be performed without end.
    private static let limit = 256

    init(of header: Header, within outer: LateFields?) {
        self.header = header
        self.outer = outer
    }

    /// Adds the names of the fields in a later form that this one does not have.
    func add(_ later: Header) {
        let added = later.filter { !header.contains($0) }.map(\.name)
        if !added.isEmpty {
            names.withLock { names in
                if names.count <= Self.limit { names.formUnion(added) }
            }
        }
        outer?.add(later)
    }

    func contains(_ name: Field.Name) -> Bool {
        names.withLock { $0.count > Self.limit || $0.contains(name) }
    }
}
