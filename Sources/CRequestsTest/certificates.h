// The functions of OpenSSL's libcrypto (3, or 1.1.1) that make keys and signatures, for the certificates of tests. They
// are a table of their own: no connection needs them.

#ifndef REQUESTS_TEST_CERTIFICATES_H
#define REQUESTS_TEST_CERTIFICATES_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// The functions, as F(result, name, parameters).
#define RP_SIGNING_FUNCTIONS(F) \
    F(int, OPENSSL_init_crypto, (uint64_t options, const void *settings)) \
    F(void, ERR_clear_error, (void)) \
    F(void *, EVP_PKEY_CTX_new_id, (int kind, void *engine)) \
    F(void, EVP_PKEY_CTX_free, (void *context)) \
    F(int, EVP_PKEY_CTX_ctrl_str, (void *context, const char *name, const char *value)) \
    F(int, EVP_PKEY_keygen_init, (void *context)) \
    F(int, EVP_PKEY_keygen, (void *context, void **key)) \
    F(void, EVP_PKEY_free, (void *key)) \
    F(int, i2d_PUBKEY, (const void *key, unsigned char **bytes)) \
    F(int, i2d_PrivateKey, (const void *key, unsigned char **bytes)) \
    F(int, PEM_write_bio_PKCS8PrivateKey, \
      (void *bio, const void *key, const void *cipher, const char *passphrase, int count, \
       int (*callback)(char *, int, int, void *), void *argument)) \
    F(const void *, EVP_aes_128_cbc, (void)) \
    F(const void *, BIO_s_mem, (void)) \
    F(void *, BIO_new, (const void *method)) \
    F(int, BIO_free, (void *bio)) \
    F(long, BIO_ctrl, (void *bio, int command, long number, void *value)) \
    F(const void *, EVP_sha1, (void)) \
    F(const void *, EVP_sha256, (void)) \
    F(void *, EVP_MD_CTX_new, (void)) \
    F(void, EVP_MD_CTX_free, (void *context)) \
    F(int, EVP_DigestSignInit, (void *context, void **result, const void *type, void *engine, void *key)) \
    F(int, EVP_DigestSign, \
      (void *context, unsigned char *signature, size_t *size, const unsigned char *data, size_t count))

#define RP_SIGNING_FIELD(result, name, parameters) result (*name) parameters;

typedef struct {
    RP_SIGNING_FUNCTIONS(RP_SIGNING_FIELD)
} rp_signing;

#define RP_SIGNING_FIND(result, name, parameters) \
    found = dlsym(library, #name); \
    if (found == NULL) return #name; \
    memcpy(&signing->name, &found, sizeof found);

/// Fills the table, and returns the name of the first function that the library lacks; NULL if it has all of them.
static inline const char *rp_signing_resolve(void *library, rp_signing *signing) {
    // Copied, because C does not convert an object pointer to a function pointer.
    void *found;
    RP_SIGNING_FUNCTIONS(RP_SIGNING_FIND)
    return NULL;
}

#undef RP_SIGNING_FIELD
#undef RP_SIGNING_FIND
#undef RP_SIGNING_FUNCTIONS

/// Creates a key: of the curve P-256 if `bits` is NULL, otherwise an RSA key of that many bits, in decimal. NULL on
/// failure.
static inline void *rp_signing_make_key(const rp_signing *signing, const char *bits) {
    const int rsa = 6, elliptic = 408;  // EVP_PKEY_RSA, EVP_PKEY_EC
    void *key = NULL;
    void *context = signing->EVP_PKEY_CTX_new_id(bits != NULL ? rsa : elliptic, NULL);
    const char *name = bits != NULL ? "rsa_keygen_bits" : "ec_paramgen_curve";
    if (context != NULL && signing->EVP_PKEY_keygen_init(context) == 1 &&
        signing->EVP_PKEY_CTX_ctrl_str(context, name, bits != NULL ? bits : "P-256") == 1 &&
        signing->EVP_PKEY_keygen(context, &key) != 1) {
        key = NULL;
    }
    if (context != NULL) signing->EVP_PKEY_CTX_free(context);
    if (key == NULL) signing->ERR_clear_error();
    return key;
}

#endif
