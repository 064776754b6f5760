// The only file that depends on where Foundation keeps its networking. Importing this module makes `URLRequest` and all
// of Requests visible.
@_exported public import Foundation
@_exported public import Requests

#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#endif
