// The package's only interface to the C library. It includes all headers that the package uses, and hides the
// differences between Linux and Darwin, so that no Swift file depends on the platform except the files of the two
// readiness queues.
// Unless stated otherwise, a function returns the result of its system call: -1, with errno set, on failure.

#ifndef REQUESTS_POSIX_SHIM_H
#define REQUESTS_POSIX_SHIM_H

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#elif defined(__APPLE__)
#include <sys/event.h>
#endif

#if defined(__linux__) && !defined(__USE_GNU)
// Declared here because _GNU_SOURCE would change types that the C library's own module defines without it.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int pthread_setname_np(pthread_t, const char *);
extern void *mremap(void *, size_t, size_t, int, ...);
#define MREMAP_MAYMOVE 1
#endif

// MARK: Constants

static const int rp_family_ipv4 = AF_INET;
static const int rp_family_ipv6 = AF_INET6;
static const int rp_family_unix = AF_UNIX;
static const int rp_stream = SOCK_STREAM;
static const int rp_shutdown_read = SHUT_RD;
static const int rp_shutdown_write = SHUT_WR;
static const int rp_shutdown_both = SHUT_RDWR;
static const int rp_open_reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
static const int rp_open_appending = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
static const int rp_open_if_missing = O_CREAT;
static const int rp_open_creating = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;

#if defined(__APPLE__)
// Darwin reports POLLHUP, which needs no request, when the peer has ended sending.
static const short rp_poll_ended = 0;
// Darwin has no such flag; SO_NOSIGPIPE, set when a socket is created, has the same effect.
static const int rp_message_no_signal = 0;
static inline int rp_has_abstract_names(void) { return 0; }
#else
static const int rp_message_no_signal = MSG_NOSIGNAL;
static inline int rp_has_abstract_names(void) { return 1; }
#endif

#if defined(__linux__)
// POLLRDHUP, which glibc declares only with _GNU_SOURCE; poll and epoll have the same bits.
static const short rp_poll_ended = EPOLLRDHUP;
static const uint32_t rp_epoll_read = EPOLLIN | EPOLLRDHUP;
static const uint32_t rp_epoll_write = EPOLLOUT;
static const uint32_t rp_epoll_once = EPOLLONESHOT;
static const uint32_t rp_epoll_edge = EPOLLET;
static const uint32_t rp_epoll_level_read = EPOLLIN;
static const uint32_t rp_epoll_readable = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
static const uint32_t rp_epoll_writable = EPOLLOUT | EPOLLHUP | EPOLLERR;
static const int rp_epoll_cloexec = EPOLL_CLOEXEC;
#endif

// MARK: Waiting

/// Waits for a descriptor and, unless it is negative, for a wake signal's descriptor. Returns 1 for the descriptor, 2
/// for the signal, 3 for both, 0 for neither.
static inline int rp_poll(int descriptor, short events, int signal, int milliseconds) {
    struct pollfd watched[2] = {{descriptor, events, 0}, {signal, POLLIN, 0}};
    int count = poll(watched, signal < 0 ? 1 : 2, milliseconds);
    if (count <= 0) { return count; }
    return (watched[0].revents != 0) | (watched[1].revents != 0) << 1;
}

// MARK: Errors

static inline int rp_errno(void) { return errno; }

/// Sets the error number of the calling thread to 0, before a call that reports an error only with it.
static inline void rp_clear_errno(void) { errno = 0; }

/// Writes the message for an error number to the buffer; strerror_r has different results in POSIX and GNU.
static inline void rp_describe_error(int code, char *buffer, size_t size) {
    if (size == 0) { return; }
    buffer[0] = 0;
#if defined(__GLIBC__) && defined(__USE_GNU)
    const char *text = strerror_r(code, buffer, size);
    if (text != buffer) { snprintf(buffer, size, "%s", text); }
#else
    (void)strerror_r(code, buffer, size);
#endif
}

// MARK: Memory

static inline size_t rp_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/// Returns new memory of whole pages, which occupy memory only when touched; NULL without memory.
///
/// It is aligned for a huge page of `unit` bytes, and all but the first such unit may consist of huge pages.
static inline void *rp_pages(size_t size, size_t unit) {
    char *start = (char *)mmap(NULL, size + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (start == (char *)MAP_FAILED) { return NULL; }
    // mmap aligns to small pages only, so one unit more is mapped and the excess on both sides unmapped.
    size_t before = (unit - (uintptr_t)start % unit) % unit;
    if (before > 0) { munmap(start, before); }
    munmap(start + before + size, unit - before);
#if defined(__linux__)
    if (size > unit) { (void)madvise(start + before + unit, size - unit, MADV_HUGEPAGE); }
#endif
    return start + before;
}

/// Returns `new_size` bytes that begin with the `old_size` bytes at `old`, which becomes invalid; NULL without memory,
/// and `old` stays valid then. Sizes are of whole pages, which occupy memory only when touched; `old` may be NULL.
static inline void *rp_grow_pages(void *old, size_t old_size, size_t new_size) {
#if defined(__linux__)
    void *start = old == NULL
        ? mmap(NULL, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        : mremap(old, old_size, new_size, MREMAP_MAYMOVE);
    return start == MAP_FAILED ? NULL : start;
#else
    void *start = mmap(NULL, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (start == MAP_FAILED) { return NULL; }
    if (old != NULL) {
        memcpy(start, old, old_size);
        munmap(old, old_size);
    }
    return start;
#endif
}

/// Lets the kernel reclaim the pages when it needs memory; their content is lost then.
static inline void rp_leave_pages(void *start, size_t size) { (void)madvise(start, size, MADV_FREE); }

// MARK: Sockets

#if defined(__APPLE__)
/// Makes a socket non-blocking and close-on-exec, without SIGPIPE; closes it on failure.
static inline int rp_prepare_socket(int descriptor) {
    int on = 1;
    if (descriptor < 0) { return -1; }
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0) {
        // Fails for a socket whose peer is gone already; then the first write fails as well.
        (void)setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
        return descriptor;
    }
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}
#endif

/// Creates a stream socket that is non-blocking and close-on-exec.
static inline int rp_socket(int family) {
#if defined(__APPLE__)
    return rp_prepare_socket(socket(family, SOCK_STREAM, 0));
#else
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
#endif
}

static inline int rp_accept(int listener) {
#if defined(__APPLE__)
    return rp_prepare_socket(accept(listener, NULL, NULL));
#else
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
#endif
}

static inline int rp_socket_pair(int *first, int *second) {
    int pair[2];
#if defined(__APPLE__)
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) { return -1; }
    if (rp_prepare_socket(pair[0]) < 0) { close(pair[1]); return -1; }
    if (rp_prepare_socket(pair[1]) < 0) { close(pair[0]); return -1; }
#else
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) { return -1; }
#endif
    *first = pair[0];
    *second = pair[1];
    return 0;
}

// glibc declares these four with a transparent union, to which Swift cannot pass a pointer.
static inline int rp_connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    return connect(descriptor, address, size);
}

static inline int rp_bind(int descriptor, const struct sockaddr *address, socklen_t size) {
    return bind(descriptor, address, size);
}

/// Binds the local end of a connection, whose port the system chooses when it connects.
static inline int rp_bind_local(int descriptor, const struct sockaddr *address, socklen_t size) {
#ifdef IP_BIND_ADDRESS_NO_PORT
    // Otherwise the port is taken now, and cannot be shared by connections to different peers.
    int on = 1;
    (void)setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
#endif
    return bind(descriptor, address, size);
}

static inline int rp_local_address(int descriptor, struct sockaddr *address, socklen_t *size) {
    return getsockname(descriptor, address, size);
}

static inline int rp_peer_address(int descriptor, struct sockaddr *address, socklen_t *size) {
    return getpeername(descriptor, address, size);
}

static inline ssize_t rp_send(int descriptor, const void *bytes, size_t count) {
    return send(descriptor, bytes, count, rp_message_no_signal | MSG_DONTWAIT);
}

static inline ssize_t rp_receive(int descriptor, void *bytes, size_t count) {
    return recv(descriptor, bytes, count, MSG_DONTWAIT);
}

static inline ssize_t rp_send_two(int descriptor, const void *first, size_t first_count, const void *second,
                                  size_t second_count) {
    struct iovec parts[2] = {{(void *)first, first_count}, {(void *)second, second_count}};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    return sendmsg(descriptor, &message, rp_message_no_signal | MSG_DONTWAIT);
}

static inline ssize_t rp_peek(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

static inline int rp_set_flag(int descriptor, int level, int option, int value) {
    return setsockopt(descriptor, level, option, &value, sizeof value);
}

static inline int rp_set_no_delay(int descriptor) {
    return rp_set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// Enables TCP keep-alive with the given numbers of seconds and probes; fails on sockets of another kind.
static inline int rp_set_keep_alive(int descriptor, int idle, int interval, int count) {
#ifdef TCP_KEEPIDLE
    int idle_option = TCP_KEEPIDLE;
#else
    int idle_option = TCP_KEEPALIVE;
#endif
    if (rp_set_flag(descriptor, IPPROTO_TCP, idle_option, idle) != 0) return -1;
    if (rp_set_flag(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, interval) != 0) return -1;
    if (rp_set_flag(descriptor, IPPROTO_TCP, TCP_KEEPCNT, count) != 0) return -1;
    return rp_set_flag(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/// Returns the values that rp_set_keep_alive has set, in its order, and the flag itself; -1 for one that is unknown.
static inline int rp_keep_alive_value(int descriptor, int index) {
#ifdef TCP_KEEPIDLE
    int idle_option = TCP_KEEPIDLE;
#else
    int idle_option = TCP_KEEPALIVE;
#endif
    int options[] = {idle_option, TCP_KEEPINTVL, TCP_KEEPCNT, SO_KEEPALIVE};
    int value = -1;
    socklen_t size = sizeof value;
    if (index < 0 || index > 3) return -1;
    int level = index == 3 ? SOL_SOCKET : IPPROTO_TCP;
    return getsockopt(descriptor, level, options[index], &value, &size) == 0 ? value : -1;
}

/// Makes close send a reset: SO_LINGER with zero seconds.
static inline int rp_set_reset_on_close(int descriptor) {
    struct linger linger = {1, 0};
    return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

/// Returns the pending error of a socket and clears it, or -1 with errno set if it cannot be read.
static inline int rp_take_socket_error(int descriptor) {
    int code = 0;
    socklen_t size = sizeof code;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : -1;
}

// MARK: Names

/// Returns whether a code of getaddrinfo means that the name has no address, and not that the lookup failed.
static inline int rp_is_unknown_host(int code) {
#if defined(__linux__)
    // EAI_NODATA and EAI_ADDRFAMILY, which glibc declares only with _GNU_SOURCE.
    const int no_data = -5, no_address_in_family = -9;
    return code == EAI_NONAME || code == no_data || code == no_address_in_family;
#else
    return code == EAI_NONAME || code == EAI_NODATA;
#endif
}

// MARK: Files

static inline int rp_open(const char *path, int flags) { return open(path, flags, 0600); }

/// Locks the file for this open file description; fails at once with EWOULDBLOCK if another has the lock.
static inline int rp_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }

static inline int rp_unlock(int descriptor) { return flock(descriptor, LOCK_UN); }

/// Returns the time of the last change of a file in seconds since 1970.
static inline int64_t rp_modified(const struct stat *status) { return (int64_t)status->st_mtime; }

static inline int rp_is_regular(const struct stat *status) { return S_ISREG(status->st_mode); }

/// Sends part of a file with the platform's sendfile.
static inline ssize_t rp_sendfile_now(int descriptor, int file, off_t offset, size_t count) {
#if defined(__APPLE__)
    off_t length = (off_t)count;
    int result = sendfile(file, descriptor, offset, &length, NULL, 0);
    // A call that failed after it sent a part has succeeded for that part.
    return result == 0 || length > 0 ? (ssize_t)length : -1;
#else
    return sendfile(descriptor, file, &offset, count);
#endif
}

/// Sends part of a file without SIGPIPE, for which sendfile has no flag: the signal is blocked in this thread during
/// the call, and consumed if the call raised it. A signal that was pending before stays pending.
static inline ssize_t rp_sendfile(int descriptor, int file, off_t offset, size_t count) {
    sigset_t pipe_signal, previous, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    int failure = pthread_sigmask(SIG_BLOCK, &pipe_signal, &previous);
    if (failure != 0) { errno = failure; return -1; }
    int was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    ssize_t result = rp_sendfile_now(descriptor, file, offset, count);
    int code = errno;
    if (result < 0 && code == EPIPE && !was_pending) {
#if defined(__APPLE__)
        int number;
        if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1) { sigwait(&pipe_signal, &number); }
#else
        struct timespec now = {0, 0};
        while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR) {}
#endif
    }
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    errno = code;
    return result;
}

// MARK: Waking a thread that waits for descriptors

/// Opens two ends, on Linux the same descriptor: a signal to the second makes the first readable.
static inline int rp_wake_open(int *reading, int *writing) {
#if defined(__linux__)
    *reading = *writing = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *reading < 0 ? -1 : 0;
#else
    int pair[2];
    if (pipe(pair) != 0) { return -1; }
    for (int index = 0; index < 2; index++) {
        (void)fcntl(pair[index], F_SETFD, FD_CLOEXEC);
        (void)fcntl(pair[index], F_SETFL, O_NONBLOCK);
    }
    *reading = pair[0];
    *writing = pair[1];
    return 0;
#endif
}

/// Signals; the result does not matter, because a full counter or pipe is readable already.
static inline void rp_wake_signal(int writing) {
    uint64_t one = 1;
    while (write(writing, &one, sizeof one) < 0 && errno == EINTR) {}
}

static inline void rp_wake_drain(int reading) {
    // A full read may have left more bytes in a pipe; a counter is drained by one read.
    uint64_t counts[8];
    ssize_t result;
    do {
        result = read(reading, counts, sizeof counts);
    } while (result == (ssize_t)sizeof counts || (result < 0 && errno == EINTR));
}

static inline int rp_set_close_on_exec(int descriptor) { return fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

// MARK: Threads

typedef struct {
    void (*body)(void *context);
    void *context;
    char name[16];
} rp_thread_start_record;

static void *rp_thread_main(void *argument) {
    rp_thread_start_record record = *(rp_thread_start_record *)argument;
    free(argument);
#if defined(__APPLE__)
    pthread_setname_np(record.name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), record.name);
#endif
    record.body(record.context);
    return NULL;
}

/// Starts a detached thread with all signals blocked, so that the program's handlers run on the program's threads.
/// Returns 0 or an error number; errno is not used.
static inline int rp_thread_start(const char *name, size_t stack, void (*body)(void *context), void *context) {
    rp_thread_start_record *record = (rp_thread_start_record *)malloc(sizeof *record);
    if (record == NULL) { return ENOMEM; }
    record->body = body;
    record->context = context;
    snprintf(record->name, sizeof record->name, "%s", name);
    sigset_t all, previous;
    pthread_attr_t attributes;
    pthread_t thread;
    sigfillset(&all);
    int code = pthread_attr_init(&attributes);
    if (code != 0) { free(record); return code; }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    code = pthread_create(&thread, &attributes, rp_thread_main, record);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    pthread_attr_destroy(&attributes);
    if (code != 0) { free(record); }
    return code;
}

// MARK: Processes

/// Reads the resources that this process has used so far.
static inline int rp_usage(struct rusage *usage) { return getrusage(RUSAGE_SELF, usage); }

// MARK: Terminals

/// Returns the width of a terminal in columns; 0 if the descriptor is not a terminal or the width is unknown.
static inline int rp_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

#endif
