import RequestsPOSIX

/// The right to one connection in the pool, taken before the connection is established.
///
/// It returns to the pool when the last reference is released, after its connection has closed. An exchange can end in
/// many ways, and none of them has to update the count.
final class Slot: ConnectionSlot {
    let origin: Origin
    let number: SlotNumber
    private let owner: any SlotOwner

    init(_ origin: Origin, _ number: SlotNumber, of owner: any SlotOwner) {
        self.origin = origin
        self.number = number
        self.owner = owner
    }

    deinit {
        owner.vacate(number)
    }

    func recordCancellation() {
        owner.recordCancellation(in: number)
    }
}

// MARK: Shared connections

extension Slot {
    /// Returns the place of a call on the shared connection in this slot.
    ///
    /// Every call returns its place once, in whichever way it ends, and before it releases the connection.
    func returnPlace() {
        owner.returnPlace(in: number)
    }

    /// Records the number of calls that the peer of the shared connection in this slot allows at once, possibly zero.
    ///
    /// The change with the highest number counts, because changes can arrive out of order.
    func setPlaces(to count: Int, change: Int) {
        owner.setPlaces(in: number, to: count, change: change)
    }

    func retire() {
        owner.retire(number)
    }
}

protocol SlotOwner: AnyObject, Sendable {
    /// Takes back a slot; its connection has closed or was never established.
    func vacate(_ slot: SlotNumber)

    /// Records that the call that establishes a connection in `slot` was cancelled.
    func recordCancellation(in slot: SlotNumber)

    func returnPlace(in slot: SlotNumber)

    func setPlaces(in slot: SlotNumber, to count: Int, change: Int)

    func retire(_ slot: SlotNumber)
}
