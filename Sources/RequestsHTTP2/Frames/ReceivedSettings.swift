/// The values of one SETTINGS frame of the peer (RFC 9113 §6.5.2).
///
/// A value is nil if the frame does not contain it; of a repeated one the last counts.
package struct ReceivedSettings: Hashable, Sendable {
    /// All values of SETTINGS_HEADER_TABLE_SIZE, each of which the encoder must respect (RFC 7541 §4.2).
    package private(set) var headerTableSizes: [Int] = []
    package private(set) var maximumConcurrentStreams: Int?
    package private(set) var initialWindowSize: Int?
    package private(set) var maximumFrameSize: Int?
    package private(set) var maximumHeaderListSize: Int?

    package init() {}

    /// Replaces the values that `other` contains, except for the table sizes.
    mutating func merge(_ other: ReceivedSettings) {
        maximumConcurrentStreams = other.maximumConcurrentStreams ?? maximumConcurrentStreams
        initialWindowSize = other.initialWindowSize ?? initialWindowSize
        maximumFrameSize = other.maximumFrameSize ?? maximumFrameSize
        maximumHeaderListSize = other.maximumHeaderListSize ?? maximumHeaderListSize
    }

    /// Reads the payload of a frame, whose length is a multiple of six.
    ///
    /// Unknown settings are ignored.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - role: The role of the reader: only a client may enable push.
    /// - Throws: The violation for a value that the setting does not allow.
    init(_ payload: Span<UInt8>, as role: HTTP2Role) throws(HTTP2Violation) {
        for position in stride(from: 0, to: payload.count, by: 6) {
            let value = Int(payload.uint32(at: position + 2))
            switch payload.uint16(at: position) {
            case SettingID.headerTableSize:
                // The smallest and the last size matter; without the others a frame cannot take much memory.
                if headerTableSizes.count == 2 { headerTableSizes = [headerTableSizes.min() ?? value] }
                headerTableSizes.append(value)
            case SettingID.enablePush:
                guard value == 0 || value == 1 && role == .server else { throw .pushSetting }
            case SettingID.maximumConcurrentStreams: maximumConcurrentStreams = value
            case SettingID.initialWindowSize:
                guard value <= WindowSize.largest else { throw .windowSetting }
                initialWindowSize = value
            case SettingID.maximumFrameSize:
                guard 16_384...16_777_215 ~= value else { throw .frameSizeSetting }
                maximumFrameSize = value
            case SettingID.maximumHeaderListSize: maximumHeaderListSize = value
            default: break
            }
        }
    }
}

/// The identifiers of settings (RFC 9113 §6.5.2).
package enum SettingID {
    package static let headerTableSize: UInt16 = 1
    package static let enablePush: UInt16 = 2
    package static let maximumConcurrentStreams: UInt16 = 3
    package static let initialWindowSize: UInt16 = 4
    package static let maximumFrameSize: UInt16 = 5
    package static let maximumHeaderListSize: UInt16 = 6
}

/// The side of a connection: client or server.
package enum HTTP2Role: Sendable {
    /// Opens streams, and sends the connection preface (RFC 9113 §3.4).
    case client
    case server
}

/// The sizes of flow-control windows in bytes (RFC 9113 §6.9.1).
package enum WindowSize {
    /// The largest size, 2^31 - 1.
    package static let largest = 0x7FFF_FFFF
    /// The size without SETTINGS and WINDOW_UPDATE.
    package static let initial = 65_535
}
