import Requests

/// A list of requests, one in each line, as the articles show them.
///
/// The snippets of the articles are in the other files of this folder, line for line; `ReadmeSnippetTests` checks it.
@resultBuilder
enum RequestList {
    static func buildExpression<API, Value>(
        _ request: Request<API, Value>
    ) -> Result<PreparedRequest, RequestError> {
        do throws(RequestError) {
            return .success(try request.prepared())
        } catch {
            return .failure(error)
        }
    }

    static func buildBlock(
        _ requests: Result<PreparedRequest, RequestError>...
    ) -> [Result<PreparedRequest, RequestError>] { requests }
}
