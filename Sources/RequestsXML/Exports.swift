// The one file that knows where Foundation keeps its XML. Whoever imports this module sees `XMLParser` and everything of
// Requests.
@_exported public import Foundation
@_exported public import Requests

#if canImport(FoundationXML)
@_exported public import FoundationXML
#endif
