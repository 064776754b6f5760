// One import is enough: users of this executor also need the requests and responses that it handles.
@_exported public import Requests
