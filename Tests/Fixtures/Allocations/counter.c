// Counts the allocations of a program into which it is preloaded, and prints the number when the program ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long allocations;

// The functions of the C library, under names that remain when ours replace them.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    static int (*original)(void **, size_t, size_t);
    if (!original) original = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    allocations++;
    return original(result, alignment, size);
}

__attribute__((destructor)) static void report(void) { fprintf(stderr, "allocations: %ld\n", atomic_load(&allocations)); }
