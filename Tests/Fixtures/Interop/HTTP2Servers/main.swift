// Performs requests with HTTP/2 at the server of the first argument, and prints for each step its name and the result.
// The second argument is a folder with the files `small`, `big`, `upload`, `part-0` to `part-63` and, for https,
// `ca.pem`; all but `upload` and `ca.pem` are also resources of the server. For the other arguments see `Server`.
// A line that begins with `!` is a command to the script, which writes a line to the standard input when it is done.

import Foundation

let server = try Server(CommandLine.arguments)
if server.supports("http1") {
    await server.performNegotiation(expecting: .http11)
} else if server.supports("grpc") {
    await server.performUnaryCalls()
} else {
    await server.performLoneCalls()
    await server.performBlockingCalls()
    await server.performCallsAtOnce()
    await server.performCancellations()
    if server.base.scheme == "https" { await server.performNegotiation(expecting: .http2) }
    await server.performRestarts()
}
