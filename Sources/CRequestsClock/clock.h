// The clock of Swift's ContinuousClock. Reading it here takes half the time of reading it there and converting its
// duration, and a small exchange reads it six times.

#ifndef REQUESTS_CLOCK_H
#define REQUESTS_CLOCK_H

#include <stdint.h>
#include <time.h>

/// Returns the nanoseconds of the continuous clock, or 0 if it cannot be read.
static inline int64_t rp_now(void) {
    struct timespec time;
#if defined(__APPLE__)
    const clockid_t clock = CLOCK_MONOTONIC_RAW;
#else
    const clockid_t clock = CLOCK_BOOTTIME;
#endif
    if (clock_gettime(clock, &time) != 0) { return 0; }
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
