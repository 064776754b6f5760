#if os(Linux)
import Foundation

/// A disk of a limited size that a forked child has for itself, in its own namespace of mounts.
package enum SmallDisk {
    private typealias Unshare = @convention(c) (Int32) -> Int32
    private typealias Mount =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>, UnsafePointer<CChar>?, UInt, UnsafePointer<CChar>?
        ) -> Int32

    // The module of the C library does not declare them.
    private static let unshare = dlsym(nil, "unshare").map { unsafeBitCast($0, to: Unshare.self) }
    private static let mount = dlsym(nil, "mount").map { unsafeBitCast($0, to: Mount.self) }

    /// Whether the system permits such a disk, as containers often do not.
    package static let isPermitted: Bool = {
        var children = ForkedChildren()
        let folder = FileManager.default.temporaryDirectory.path
        // Before the fork, because the child must not wait for the loader.
        guard unshare != nil, mount != nil else { return false }
        return children.run { Self.mount(at: folder, bytes: 65_536) }
    }()

    /// Mounts an empty disk at the folder `path` for the calling process, which must be a forked child.
    ///
    /// - Parameters:
    ///   - path: The folder, which has no other content until the child ends.
    ///   - bytes: The size of the disk.
    /// - Returns: Whether the disk is there.
    package static func mount(at path: String, bytes: Int) -> Bool {
        guard let unshare, let mount, isolate(unshare) else { return false }
        let (recursive, isPrivate): (UInt, UInt) = (0x4000, 0x40000)
        return mount(nil, "/", nil, recursive | isPrivate, nil) == 0
            && mount("none", path, "tmpfs", 0, "size=\(bytes),mode=700") == 0
    }

    /// Enters a new mount namespace, and a new user namespace unless the superuser runs the process.
    private static func isolate(_ unshare: Unshare) -> Bool {
        let (mounts, users): (Int32, Int32) = (0x20000, 0x1000_0000)
        let (user, group) = (getuid(), getgid())
        if user == 0, unshare(mounts) == 0 { return true }
        return unshare(mounts | users) == 0 && write("deny", "setgroups") && write("0 \(user) 1", "uid_map")
            && write("0 \(group) 1", "gid_map")
    }

    private static func write(_ text: String, _ name: String) -> Bool {
        let file = open("/proc/self/\(name)", O_WRONLY)
        defer { close(file) }
        return Foundation.write(file, text, text.utf8.count) == text.utf8.count
    }
}
#endif
