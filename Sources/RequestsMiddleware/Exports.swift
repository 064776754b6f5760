// One import is enough: it includes the executors and requests of Requests.
@_exported public import Requests
