// The mutex of the C library, which Swift imports from here on every platform.

#ifndef REQUESTS_LOCK_H
#define REQUESTS_LOCK_H

#include <pthread.h>

#endif
