// The only file that depends on where Foundation keeps its XML. Importing this module makes `XMLParser` and all of
// Requests visible.
@_exported public import Foundation
@_exported public import Requests

#if canImport(FoundationXML)
@_exported public import FoundationXML
#endif
