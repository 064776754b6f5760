// One import is enough: a user of this executor sees the whole of Requests.
@_exported public import Requests
@_exported public import RequestsMiddleware
