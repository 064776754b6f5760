// One import is enough: users of the server also need the requests and responses that it handles.
@_exported public import Requests
