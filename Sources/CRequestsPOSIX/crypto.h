// OpenSSL's libcrypto (3, or 1.1.1), loaded when the program first needs it. It is not linked, and its headers are not
// needed. The declarations below are the stable part of the library's interface, the same in both versions.

#ifndef REQUESTS_POSIX_CRYPTO_H
#define REQUESTS_POSIX_CRYPTO_H

#include "codings.h"

// MARK: Libraries

/// Opens a library without adding its symbols to the program's.
static inline void *rp_library_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

/// Returns whether the process has loaded a library already.
static inline int rp_library_is_loaded(const char *name) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        (void)dlerror();
        return 0;
    }
    (void)dlclose(library);
    return 1;
}

/// Returns the error of the last call of this thread that opened a library; NULL if there is none.
static inline const char *rp_library_error(void) { return dlerror(); }

static inline void rp_library_close(void *library) { (void)dlclose(library); }

// MARK: libcrypto

typedef struct {
    int (*initialize)(uint64_t options, const void *settings);
    void (*clear_errors)(void);
    const void *(*md5)(void);
    const void *(*sha1)(void);
    const void *(*sha256)(void);
    const void *(*sha512_256)(void);
    int (*digest)(const void *data, size_t count, unsigned char *result, unsigned int *size, const void *type,
                  void *engine);
    unsigned char *(*hmac)(const void *type, const void *key, int key_count, const unsigned char *data, size_t count,
                           unsigned char *result, unsigned int *size);
    void *(*make)(void);
    int (*begin)(void *context, const void *type, void *engine);
    int (*update)(void *context, const void *data, size_t count);
    int (*finish)(void *context, unsigned char *result, unsigned int *size);
    void (*destroy)(void *context);
} rp_crypto;

/// The size in bytes of the longest digest (EVP_MAX_MD_SIZE).
static const int rp_crypto_maximum = 64;

/// Fills the table, and returns the name of the first function that the library lacks; NULL if it has all of them.
static inline const char *rp_crypto_resolve(void *library, rp_crypto *crypto) {
    if (!rp_find(library, "OPENSSL_init_crypto", &crypto->initialize)) return "OPENSSL_init_crypto";
    if (!rp_find(library, "ERR_clear_error", &crypto->clear_errors)) return "ERR_clear_error";
    if (!rp_find(library, "EVP_md5", &crypto->md5)) return "EVP_md5";
    if (!rp_find(library, "EVP_sha1", &crypto->sha1)) return "EVP_sha1";
    if (!rp_find(library, "EVP_sha256", &crypto->sha256)) return "EVP_sha256";
    if (!rp_find(library, "EVP_sha512_256", &crypto->sha512_256)) return "EVP_sha512_256";
    if (!rp_find(library, "EVP_Digest", &crypto->digest)) return "EVP_Digest";
    if (!rp_find(library, "HMAC", &crypto->hmac)) return "HMAC";
    if (!rp_find(library, "EVP_MD_CTX_new", &crypto->make)) return "EVP_MD_CTX_new";
    if (!rp_find(library, "EVP_DigestInit_ex", &crypto->begin)) return "EVP_DigestInit_ex";
    if (!rp_find(library, "EVP_DigestUpdate", &crypto->update)) return "EVP_DigestUpdate";
    if (!rp_find(library, "EVP_DigestFinal_ex", &crypto->finish)) return "EVP_DigestFinal_ex";
    if (!rp_find(library, "EVP_MD_CTX_free", &crypto->destroy)) return "EVP_MD_CTX_free";
    return NULL;
}

/// Initializes the library without its exit handler, and returns whether it succeeded.
static inline int rp_crypto_initialize(rp_crypto crypto) {
    // OPENSSL_INIT_NO_ATEXIT: the handler frees memory that other threads may still use while the program ends.
    const uint64_t no_exit_handler = 0x00080000;
    return crypto.initialize(no_exit_handler, NULL) == 1;
}

#endif
