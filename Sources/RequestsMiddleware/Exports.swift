// One import is enough: who imports middleware sees what it stands before.
@_exported public import Requests
