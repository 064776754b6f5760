// The only file of this module that chooses between FoundationEssentials and Foundation. All other files, and files
// that import Requests, get `URL` and `Data` through this re-export.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
