// One import is enough: it includes Requests, and Foundation with its networking.
@_exported public import Requests
@_exported public import RequestsFoundation
