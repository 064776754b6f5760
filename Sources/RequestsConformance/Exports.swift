// One import is enough: who runs the suite sees the requests, the server and the mock that its scenarios speak of.
@_exported public import Requests
@_exported public import RequestsMock
@_exported public import RequestsTestServer
