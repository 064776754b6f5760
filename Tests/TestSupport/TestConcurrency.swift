#if os(Linux)
#if canImport(Glibc)
internal import Glibc
#else
internal import Musl
#endif

/// Limits the number of test cases that run at the same time, before the first one starts.
///
/// Without a limit the library starts all cases at once, and thousands of them wait for a thread for minutes. Their
/// time limits then end, and their idle connections are closed, although nothing is slow. A value in the environment
/// stays.
@used
@section(".init_array")
private let limitConcurrency: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0)
}
#endif
