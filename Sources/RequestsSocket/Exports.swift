// One import is enough: a user of this executor sees all of Requests.
@_exported public import Requests
