// libpsl (soname 5), the public suffix list of the system, loaded when the program first needs it. It is not linked, and
// its headers are not needed. The declarations below are the stable part of the library's interface.

#ifndef REQUESTS_POSIX_PSL_H
#define REQUESTS_POSIX_PSL_H

#include "crypto.h"

typedef struct {
    /// Returns the newest of the list in the library and those in files of the system; the caller owns it.
    void *(*latest)(const char *file);
    /// Returns 1 if the domain, in lower case, is a public suffix.
    int (*is_public_suffix)(const void *list, const char *domain);
} rp_psl;

/// Fills the table, and returns the name of the first function that the library lacks; NULL if it has all of them.
static inline const char *rp_psl_resolve(void *library, rp_psl *psl) {
    if (!rp_find(library, "psl_latest", &psl->latest)) return "psl_latest";
    if (!rp_find(library, "psl_is_public_suffix", &psl->is_public_suffix)) return "psl_is_public_suffix";
    return NULL;
}

#endif
