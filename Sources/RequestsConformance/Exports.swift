// One import is enough: it includes the requests, the server and the mock that the scenarios use.
@_exported public import Requests
@_exported public import RequestsMock
@_exported public import RequestsTestServer
