package import Requests

extension PreparedRequest {
    /// Checks that the file to which the response is delivered can be written; call it before anything is sent.
    ///
    /// It creates a temporary file beside the path, as the download does, and removes it. The file at the path remains
    /// unchanged.
    ///
    /// - Throws: ``RequestError/Reason/fileAccessFailed`` if the folder of the path does not exist or cannot be
    ///   written, or if there is anything but a regular file at the path.
    package func checkDelivery() throws(RequestError) {
        guard case .file(let path) = delivery else { return }
        do throws(FileError) {
            _ = try FileWriter(replacing: path)
        } catch {
            throw RequestError(
                .fileAccessFailed, detail: "cannot write the response to \(ErrorText.quoted(path)): \(error)",
                underlying: error
            ).beforeSending()
        }
    }
}
