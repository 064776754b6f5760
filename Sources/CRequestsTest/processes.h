// Functions that change or create processes, for tests. No product but the test server uses this module, and the test
// server uses only the certificates.

#ifndef REQUESTS_TEST_PROCESSES_H
#define REQUESTS_TEST_PROCESSES_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static inline int rp_get_descriptor_flags(int descriptor) { return fcntl(descriptor, F_GETFD); }

// glibc declares the resource and the timer as enums of its own, to which Swift does not convert.
static inline int rp_limit_descriptors(const struct rlimit *limit) { return setrlimit(RLIMIT_NOFILE, limit); }

// fork and _exit are unavailable in Swift; the child of a process with threads may do little before it ends.
//
// Another thread may hold a lock during the fork, such as one of the Swift runtime, and the child then waits for it
// forever. So an alarm ends the child after `seconds`, and nothing of Swift runs before it is set.
static inline pid_t rp_fork(unsigned seconds, bool closes_descriptors) {
    pid_t child = fork();
    if (child != 0) { return child; }
    alarm(seconds);
    // The library's threads block signals.
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    // Without the runtime's report of a crash, whose process would outlive the child.
    const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS};
    for (size_t index = 0; index < sizeof(crashes) / sizeof(*crashes); index++) { signal(crashes[index], SIG_DFL); }
    for (int descriptor = 3; closes_descriptors && descriptor < 4096; descriptor++) { close(descriptor); }
    return 0;
}
static inline void rp_exit_child(int status) { _exit(status); }

// Returns the exit status, the negative number of the signal that ended the child, or INT_MIN if there is no child.
// A child that has not ended after about `seconds` is killed: it may have hung in fork, before its alarm.
static inline int rp_wait_for_child(pid_t child, unsigned seconds) {
    int status = 0;
    for (unsigned long turn = 0;; turn++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended > 0) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }
        if (ended < 0 && errno != EINTR) { return INT_MIN; }
        if (turn == seconds * 1000ul) { kill(child, SIGKILL); }
        usleep(1000);
    }
}

static inline int rp_start_timer(const struct itimerval *interval) {
    return setitimer(ITIMER_REAL, interval, NULL);
}

#endif
