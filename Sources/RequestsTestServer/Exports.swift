// One import is enough: who imports the server sees the requests and responses it speaks of.
@_exported public import Requests
