// One import is enough: who imports this executor sees what it executes.
@_exported public import Requests
@_exported public import RequestsMiddleware
