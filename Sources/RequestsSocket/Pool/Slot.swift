import RequestsPOSIX

/// The right to one connection in the pool, taken before the connection is established.
///
/// It returns to the pool when the last reference is released, after its connection has closed. An exchange can end in
/// many ways, and none of them has to update the count.
final class Slot: Sendable {
    let origin: Origin
    /// The index of its origin's lane in the pool's ledger.
    let place: Int
    private let owner: any SlotOwner

    init(_ origin: Origin, at place: Int, of owner: any SlotOwner) {
        self.origin = origin
        self.place = place
        self.owner = owner
    }

    deinit {
        owner.vacate(place)
    }
}

protocol SlotOwner: AnyObject, Sendable {
    /// Takes back the slot at `place`; its connection has closed or was never established.
    func vacate(_ place: Int)
}
