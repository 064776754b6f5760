// The one file that knows where Foundation keeps its networking. Whoever imports this module sees `URLRequest` and
// everything of Requests.
@_exported public import Foundation
@_exported public import Requests

#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#endif
