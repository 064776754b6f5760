/// The streams of a connection: records in dense slots, found by number with open addressing.
struct StreamTable: Sendable {
    private var records: [StreamRecord] = []
    /// The indices of records whose streams have ended.
    private var free: [Int] = []
    /// The index of each record plus one, at the first position from `home(of:)` on that was free; 0 ends a search.
    private var places: [Int] = Array(repeating: 0, count: 16)

    var count: Int { records.count - free.count }
    var isEmpty: Bool { count == 0 }

    private var mask: Int { places.count - 1 }

    /// The record at an index that the table has returned.
    subscript(index: Int) -> StreamRecord {
        get { records[index] }
        _modify { yield &records[index] }
    }

    /// The indices of all streams, in no order.
    var indices: [Int] { places.filter { $0 > 0 }.map { $0 - 1 } }

    /// Returns the index of the stream with number `id`, or nil if it is not in the table.
    func index(of id: StreamID) -> Int? {
        var place = home(of: id)
        while places[place] > 0 {
            if records[places[place] - 1].id == id { return places[place] - 1 }
            place = (place + 1) & mask
        }
        return nil
    }

    /// Returns the index of the stream of `slot`, or nil if it has ended.
    func index(of slot: StreamSlot) -> Int? {
        guard records.indices.contains(slot.index), records[slot.index].id == slot.stream else { return nil }
        return index(of: slot.stream)
    }

    func slot(at index: Int) -> StreamSlot {
        StreamSlot(index: index, stream: records[index].id)
    }

    /// Inserts a stream whose number is not in the table, and returns its index.
    mutating func insert(_ record: StreamRecord) -> Int {
        // At most half full, so that searches are short.
        if 2 * (count + 1) > places.count { grow() }
        let index = free.popLast() ?? records.count
        if index == records.count { records.append(record) } else { records[index] = record }
        place(index)
        return index
    }

    mutating func remove(at index: Int) {
        var hole = home(of: records[index].id)
        while places[hole] != index + 1 { hole = (hole + 1) & mask }
        places[hole] = 0
        free.append(index)
        // Moves the entries after the hole that a search for them would no longer reach.
        var next = (hole + 1) & mask
        while places[next] > 0 {
            let distance = (next - home(of: records[places[next] - 1].id)) & mask
            if distance >= (next - hole) & mask {
                places[hole] = places[next]
                places[next] = 0
                hole = next
            }
            next = (next + 1) & mask
        }
    }

    /// The position at which the search for a stream begins.
    ///
    /// Streams are opened in order, and the next one begins three positions further. Few occupied positions are
    /// therefore adjacent, and a removal, which reads all of them, is short.
    private func home(of id: StreamID) -> Int { 3 * Int(id >> 1) & mask }

    private mutating func place(_ index: Int) {
        var place = home(of: records[index].id)
        while places[place] > 0 { place = (place + 1) & mask }
        places[place] = index + 1
    }

    private mutating func grow() {
        let indices = indices
        places = Array(repeating: 0, count: 2 * places.count)
        for index in indices { place(index) }
    }
}

/// The last streams that the peer has ended or reset, so that further frames of them are errors.
///
/// An older stream is treated as one that we have reset: frames that arrive for it are dropped.
struct ClosedStreams: Sendable {
    enum Ending: Sendable { case ended, reset }

    private static let capacity = 64
    private var endings: [(id: StreamID, ending: Ending)] = []
    private var oldest = 0
    /// The last ranges of numbers that a client has skipped.
    private var skipped: [Range<StreamID>] = []

    mutating func record(_ id: StreamID, _ ending: Ending) {
        if endings.count < Self.capacity { return endings.append((id, ending)) }
        endings[oldest] = (id, ending)
        oldest = (oldest + 1) % Self.capacity
    }

    /// Records the numbers that a client has skipped between two streams that it opened in a row.
    mutating func recordSkipped(after last: StreamID, before next: StreamID) {
        guard next > last + 2 else { return }
        if skipped.count == Self.capacity { skipped.removeFirst() }
        skipped.append(last + 1..<next)
    }

    /// Returns whether a client has skipped the number; false if that is forgotten.
    func wasSkipped(_ id: StreamID) -> Bool {
        skipped.contains { $0.contains(id) }
    }

    /// Returns how the peer has closed the stream; nil if we have reset it, or if that is forgotten.
    func ending(of id: StreamID) -> Ending? {
        endings.last { $0.id == id }?.ending
    }
}
