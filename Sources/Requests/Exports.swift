// The one place that chooses the Foundation this module stands on. Every other file, and every user's file that
// imports Requests, sees `URL` and `Data` through this re-export.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
