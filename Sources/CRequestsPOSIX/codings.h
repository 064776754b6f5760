// The decoders of content codings: zlib, Brotli and Zstandard, loaded when the program runs. They are not linked, and
// their headers are not needed. If a library is missing, or cannot be loaded, as in a static program, its coding is
// unavailable. The declarations below are the stable part of the libraries' interfaces.

#ifndef REQUESTS_POSIX_CODINGS_H
#define REQUESTS_POSIX_CODINGS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Stores the address of a function of the library at `function`, and returns whether the library has it.
static inline int rp_find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    // Copied, because C does not convert an object pointer to a function pointer.
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

// MARK: zlib (soname 1)

/// The layout of z_stream.
typedef struct {
    const uint8_t *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *opaque, unsigned int items, unsigned int size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} rp_z_stream;

_Static_assert(sizeof(void *) != 8 || sizeof(rp_z_stream) == 112, "the layout of z_stream differs");

typedef struct {
    int (*begin)(rp_z_stream *stream, int window_bits, const char *version, int size);
    int (*decode)(rp_z_stream *stream, int flush);
    int (*reset)(rp_z_stream *stream);
    int (*end)(rp_z_stream *stream);
} rp_zlib;

static const int rp_z_end = 1;
static const int rp_z_no_progress = -5;
static const int rp_z_gzip = 15 + 16;
static const int rp_z_wrapped = 15;
static const int rp_z_raw = -15;

static inline int rp_zlib_load(rp_zlib *zlib) {
#if defined(__APPLE__)
    void *library = dlopen("/usr/lib/libz.1.dylib", RTLD_NOW | RTLD_LOCAL);
#else
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    return library != NULL && rp_find(library, "inflateInit2_", &zlib->begin) &&
           rp_find(library, "inflate", &zlib->decode) && rp_find(library, "inflateReset", &zlib->reset) &&
           rp_find(library, "inflateEnd", &zlib->end);
}

/// Initializes a stream; zlib checks only the first digit of the version.
static inline int rp_zlib_begin(rp_zlib zlib, rp_z_stream *stream, int window_bits) {
    return zlib.begin(stream, window_bits, "1", (int)sizeof *stream);
}

/// Decodes with Z_SYNC_FLUSH (2): as much output as the input so far allows.
static inline int rp_zlib_decode(rp_zlib zlib, rp_z_stream *stream) { return zlib.decode(stream, 2); }

static inline int rp_zlib_reset(rp_zlib zlib, rp_z_stream *stream) { return zlib.reset(stream); }

static inline void rp_zlib_end(rp_zlib zlib, rp_z_stream *stream) { (void)zlib.end(stream); }

// MARK: Brotli (soname 1)

typedef struct {
    void *(*make)(void *allocate, void *release, void *opaque);
    int (*decode)(void *state, size_t *available_in, const uint8_t **next_in, size_t *available_out, uint8_t **next_out,
                  size_t *total_out);
    int (*error)(const void *state);
    const char *(*describe)(int error);
    void (*destroy)(void *state);
} rp_brotli;

static const int rp_brotli_failed = 0;
static const int rp_brotli_end = 1;

static inline int rp_brotli_load(rp_brotli *brotli) {
#if defined(__APPLE__)
    void *library = NULL;
#else
    void *library = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    return library != NULL && rp_find(library, "BrotliDecoderCreateInstance", &brotli->make) &&
           rp_find(library, "BrotliDecoderDecompressStream", &brotli->decode) &&
           rp_find(library, "BrotliDecoderGetErrorCode", &brotli->error) &&
           rp_find(library, "BrotliDecoderErrorString", &brotli->describe) &&
           rp_find(library, "BrotliDecoderDestroyInstance", &brotli->destroy);
}

static inline void *rp_brotli_make(rp_brotli brotli) { return brotli.make(NULL, NULL, NULL); }

static inline int rp_brotli_decode(rp_brotli brotli, void *state, size_t *available_in, const uint8_t *next_in,
                                   size_t *available_out, uint8_t *next_out) {
    return brotli.decode(state, available_in, &next_in, available_out, &next_out, NULL);
}

static inline const char *rp_brotli_describe(rp_brotli brotli, const void *state) {
    return brotli.describe(brotli.error(state));
}

static inline void rp_brotli_destroy(rp_brotli brotli, void *state) { brotli.destroy(state); }

// MARK: Zstandard (soname 1, 1.4 or later)

typedef struct {
    void *bytes;
    size_t size;
    size_t position;
} rp_zstd_buffer;

typedef struct {
    void *(*make)(void);
    size_t (*set)(void *context, int parameter, int value);
    size_t (*decode)(void *context, rp_zstd_buffer *output, rp_zstd_buffer *input);
    unsigned (*is_error)(size_t result);
    const char *(*describe)(size_t result);
    size_t (*destroy)(void *context);
} rp_zstd;

static inline int rp_zstd_load(rp_zstd *zstd) {
#if defined(__APPLE__)
    void *library = NULL;
#else
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    return library != NULL && rp_find(library, "ZSTD_createDCtx", &zstd->make) &&
           rp_find(library, "ZSTD_DCtx_setParameter", &zstd->set) &&
           rp_find(library, "ZSTD_decompressStream", &zstd->decode) &&
           rp_find(library, "ZSTD_isError", &zstd->is_error) && rp_find(library, "ZSTD_getErrorName", &zstd->describe) &&
           rp_find(library, "ZSTD_freeDCtx", &zstd->destroy);
}

/// Creates a decoder of frames with windows of at most 8 MiB (RFC 9659 §3); NULL without memory.
static inline void *rp_zstd_make(rp_zstd zstd) {
    // ZSTD_d_windowLogMax; 2^23 bytes are 8 MiB.
    const int window_log_max = 100;
    void *context = zstd.make();
    if (context != NULL && zstd.is_error(zstd.set(context, window_log_max, 23))) {
        (void)zstd.destroy(context);
        return NULL;
    }
    return context;
}

static inline size_t rp_zstd_decode(rp_zstd zstd, void *context, rp_zstd_buffer *output, rp_zstd_buffer *input) {
    return zstd.decode(context, output, input);
}

/// Returns the name of the error that `result` is; NULL if it is not an error.
static inline const char *rp_zstd_describe(rp_zstd zstd, size_t result) {
    return zstd.is_error(result) ? zstd.describe(result) : NULL;
}

static inline void rp_zstd_destroy(rp_zstd zstd, void *context) { (void)zstd.destroy(context); }

#endif
