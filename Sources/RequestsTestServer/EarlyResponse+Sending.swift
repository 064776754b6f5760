import RequestsPOSIX

extension TestServer.Behavior.EarlyResponse {
    /// Sends the response; throws unless the request's body is to be read afterwards.
    func send(over connection: ServerConnection) throws(ConnectionEnd) {
        let close = announcesClose ? "Connection: close\r\n" : ""
        let location = status.isRedirection ? "Location: /\r\n" : ""
        let fields = "Content-Length: 5\r\n\(location)\(close)"
        let text = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\(fields)\r\nearly"
        try connection.send(Array(text.utf8)[...])
        switch next {
        case .reads: return
        case .stopsReading: try connection.waitForHangUp(by: .distantFuture)
        case .resets: try? connection.socket.setResetOnClose()
        }
        throw .closed
    }
}
