// One import is enough: a user of this executor sees the whole of Requests, and Foundation with its networking.
@_exported public import Requests
@_exported public import RequestsFoundation
@_exported public import RequestsMiddleware
