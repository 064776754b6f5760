/// The directions in which a descriptor can become ready.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Bytes can be read, or the peer has closed.
    package static var reading: Interest { Interest(rawValue: 1) }
    /// Bytes can be written, connecting has ended, or the peer is gone.
    package static var writing: Interest { Interest(rawValue: 2) }
    /// Reading and writing.
    package static var both: Interest { [.reading, .writing] }
    /// No direction.
    package static var none: Interest { [] }
}

/// A report of the kernel: the slot of a descriptor and the directions that are ready.
struct ReadinessEvent {
    let token: SlotToken
    let ready: Interest
}

/// A slot in the reactor's table and its generation, so that a late event for a closed descriptor does not reach the
/// next descriptor in that slot.
struct SlotToken: Hashable, Sendable {
    let slot: UInt32
    let generation: UInt32

    /// The token of the reactor's own wake signal.
    static let wakeSignal = SlotToken(slot: .max, generation: .max)

    init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    init(bits: UInt64) {
        slot = UInt32(truncatingIfNeeded: bits)
        generation = UInt32(truncatingIfNeeded: bits >> 32)
    }

    var bits: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
