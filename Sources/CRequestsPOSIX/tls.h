// OpenSSL's libssl and libcrypto (3, or 1.1.1), loaded when the program first needs TLS. They are not linked, and their
// headers are not needed. The declarations below are the part of their interface that is the same in both versions.

#ifndef REQUESTS_POSIX_TLS_H
#define REQUESTS_POSIX_TLS_H

#include "crypto.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/// Whether TLS connections are supported here. Apple's systems have no OpenSSL; URLSession speaks https there.
static inline int rp_tls_is_supported(void) {
#if defined(__APPLE__)
    return 0;
#else
    return 1;
#endif
}

// MARK: The table

/// The functions of a connection, as F(result, name, parameters). All are found in libssl and the libcrypto that it
/// depends on, so that the two versions cannot differ.
#define RP_TLS_FUNCTIONS(F) \
    F(int, OPENSSL_init_crypto, (uint64_t options, const void *settings)) \
    F(int, OPENSSL_init_ssl, (uint64_t options, const void *settings)) \
    F(unsigned long, OpenSSL_version_num, (void)) \
    F(const char *, OpenSSL_version, (int type)) \
    F(unsigned long, ERR_peek_error, (void)) \
    F(unsigned long, ERR_get_error, (void)) \
    F(void, ERR_clear_error, (void)) \
    F(const char *, ERR_reason_error_string, (unsigned long error)) \
    F(const void *, TLS_client_method, (void)) \
    F(const void *, TLS_server_method, (void)) \
    F(void *, SSL_CTX_new, (const void *method)) \
    F(void, SSL_CTX_free, (void *context)) \
    F(long, SSL_CTX_ctrl, (void *context, int command, long number, void *value)) \
    F(uint64_t, SSL_CTX_set_options, (void *context, uint64_t options)) \
    F(uint64_t, SSL_CTX_clear_options, (void *context, uint64_t options)) \
    F(int, SSL_CTX_get_security_level, (const void *context)) \
    F(void, SSL_CTX_set_security_level, (void *context, int level)) \
    F(int, SSL_CTX_set_cipher_list, (void *context, const char *list)) \
    F(void, SSL_CTX_set_verify, (void *context, int mode, int (*callback)(int, void *))) \
    F(void, SSL_CTX_set_cert_verify_callback, (void *context, int (*callback)(void *, void *), void *argument)) \
    F(void *, SSL_CTX_get0_param, (void *context)) \
    F(void *, SSL_CTX_get_cert_store, (const void *context)) \
    F(int, SSL_CTX_load_verify_locations, (void *context, const char *file, const char *folder)) \
    F(int, SSL_CTX_set_alpn_protos, (void *context, const unsigned char *list, unsigned int count)) \
    F(int, SSL_set_alpn_protos, (void *ssl, const unsigned char *list, unsigned int count)) \
    F(void, SSL_CTX_set_alpn_select_cb, \
      (void *context, int (*callback)(void *, const unsigned char **, unsigned char *, const unsigned char *, \
                                      unsigned int, void *), void *argument)) \
    F(void, SSL_CTX_set_default_read_buffer_len, (void *context, size_t size)) \
    F(int, SSL_CTX_use_certificate, (void *context, void *certificate)) \
    F(int, SSL_CTX_use_PrivateKey, (void *context, void *key)) \
    F(int, SSL_CTX_check_private_key, (const void *context)) \
    F(void, SSL_CTX_sess_set_new_cb, (void *context, int (*callback)(void *, void *))) \
    F(int, SSL_CTX_set_session_id_context, (void *context, const unsigned char *id, unsigned int count)) \
    F(void, SSL_CTX_set_post_handshake_auth, (void *context, int is_offered)) \
    F(void *, SSL_new, (void *context)) \
    F(void, SSL_free, (void *ssl)) \
    F(long, SSL_ctrl, (void *ssl, int command, long number, void *value)) \
    F(void, SSL_set_bio, (void *ssl, void *reading, void *writing)) \
    F(void, SSL_set_connect_state, (void *ssl)) \
    F(void, SSL_set_accept_state, (void *ssl)) \
    F(int, SSL_do_handshake, (void *ssl)) \
    F(int, SSL_read, (void *ssl, void *bytes, int count)) \
    F(int, SSL_write, (void *ssl, const void *bytes, int count)) \
    F(int, SSL_shutdown, (void *ssl)) \
    F(int, SSL_key_update, (void *ssl, int requests_reply)) \
    F(void, SSL_set_shutdown, (void *ssl, int mode)) \
    F(int, SSL_get_error, (const void *ssl, int result)) \
    F(int, SSL_has_pending, (const void *ssl)) \
    F(void *, SSL_get0_param, (void *ssl)) \
    F(int, SSL_set_ex_data, (void *ssl, int index, void *value)) \
    F(void *, SSL_get_ex_data, (const void *ssl, int index)) \
    F(int, SSL_get_ex_data_X509_STORE_CTX_idx, (void)) \
    F(long, SSL_get_verify_result, (const void *ssl)) \
    F(void *, SSL_get_peer_cert_chain, (const void *ssl)) \
    F(const char *, SSL_get_version, (const void *ssl)) \
    F(const void *, SSL_get_current_cipher, (const void *ssl)) \
    F(const char *, SSL_CIPHER_get_name, (const void *cipher)) \
    F(void, SSL_get0_alpn_selected, (const void *ssl, const unsigned char **name, unsigned int *count)) \
    F(int, SSL_session_reused, (const void *ssl)) \
    F(const char *, SSL_get_servername, (const void *ssl, int type)) \
    F(int, SSL_set_session, (void *ssl, void *session)) \
    F(void *, SSL_get1_session, (void *ssl)) \
    F(void, SSL_SESSION_free, (void *session)) \
    F(int, SSL_SESSION_is_resumable, (const void *session)) \
    F(int, BIO_get_new_index, (void)) \
    F(void *, BIO_meth_new, (int type, const char *name)) \
    F(int, BIO_meth_set_write, (void *method, int (*write)(void *, const char *, int))) \
    F(int, BIO_meth_set_read, (void *method, int (*read)(void *, char *, int))) \
    F(int, BIO_meth_set_ctrl, (void *method, long (*control)(void *, int, long, void *))) \
    F(void *, BIO_new, (const void *method)) \
    F(int, BIO_free, (void *bio)) \
    F(void, BIO_set_data, (void *bio, void *data)) \
    F(void *, BIO_get_data, (void *bio)) \
    F(void, BIO_set_init, (void *bio, int is_set)) \
    F(void, BIO_set_flags, (void *bio, int flags)) \
    F(void, BIO_clear_flags, (void *bio, int flags)) \
    F(void *, BIO_new_mem_buf, (const void *bytes, int count)) \
    F(void *, PEM_read_bio_X509, \
      (void *bio, void **result, int (*passphrase)(char *, int, int, void *), void *argument)) \
    F(void *, PEM_read_bio_PrivateKey, \
      (void *bio, void **result, int (*passphrase)(char *, int, int, void *), void *argument)) \
    F(void *, d2i_X509, (void **result, const unsigned char **bytes, long count)) \
    F(int, i2d_X509, (const void *certificate, unsigned char **bytes)) \
    F(void *, d2i_AutoPrivateKey, (void **result, const unsigned char **bytes, long count)) \
    F(void, EVP_PKEY_free, (void *key)) \
    F(void, X509_free, (void *certificate)) \
    F(int, X509_STORE_add_cert, (void *store, void *certificate)) \
    F(int, X509_verify_cert, (void *verification)) \
    F(int, X509_STORE_CTX_get_error, (const void *verification)) \
    F(void, X509_STORE_CTX_set_error, (void *verification, int error)) \
    F(int, X509_STORE_CTX_get_error_depth, (const void *verification)) \
    F(void *, X509_STORE_CTX_get_current_cert, (const void *verification)) \
    F(void *, X509_STORE_CTX_get0_cert, (const void *verification)) \
    F(void *, X509_STORE_CTX_get0_chain, (const void *verification)) \
    F(void *, X509_STORE_CTX_get0_untrusted, (const void *verification)) \
    F(void *, X509_STORE_CTX_get_ex_data, (const void *verification, int index)) \
    F(const char *, X509_verify_cert_error_string, (long error)) \
    F(void, X509_VERIFY_PARAM_set_hostflags, (void *parameters, unsigned int flags)) \
    F(int, X509_VERIFY_PARAM_set_flags, (void *parameters, unsigned long flags)) \
    F(int, X509_VERIFY_PARAM_set1_host, (void *parameters, const char *name, size_t count)) \
    F(int, X509_VERIFY_PARAM_add1_host, (void *parameters, const char *name, size_t count)) \
    F(int, X509_VERIFY_PARAM_set1_ip_asc, (void *parameters, const char *address)) \
    F(const char *, X509_get_default_cert_file, (void)) \
    F(const char *, X509_get_default_cert_dir, (void)) \
    F(void *, X509_get_subject_name, (const void *certificate)) \
    F(void *, X509_get_issuer_name, (const void *certificate)) \
    F(char *, X509_NAME_oneline, (const void *name, char *text, int size)) \
    F(const void *, X509_get0_notBefore, (const void *certificate)) \
    F(const void *, X509_get0_notAfter, (const void *certificate)) \
    F(int, ASN1_TIME_to_tm, (const void *time, struct tm *result)) \
    F(void *, X509_get_X509_PUBKEY, (const void *certificate)) \
    F(int, i2d_X509_PUBKEY, (const void *key, unsigned char **bytes)) \
    F(void *, X509_get_ext_d2i, (const void *certificate, int kind, int *is_critical, int *index)) \
    F(void *, GENERAL_NAME_get0_value, (const void *name, int *type)) \
    F(void, GENERAL_NAMES_free, (void *names)) \
    F(int, OPENSSL_sk_num, (const void *stack)) \
    F(void *, OPENSSL_sk_value, (const void *stack, int index)) \
    F(int, ASN1_STRING_length, (const void *text)) \
    F(const unsigned char *, ASN1_STRING_get0_data, (const void *text)) \
    F(const void *, EVP_sha256, (void)) \
    F(int, EVP_Digest, \
      (const void *data, size_t count, unsigned char *result, unsigned int *size, const void *type, void *engine))

#define RP_TLS_FIELD(result, name, parameters) result (*name) parameters;

/// The functions of OpenSSL that a connection needs, by their names.
typedef struct {
    RP_TLS_FUNCTIONS(RP_TLS_FIELD)
} rp_tls;

#define RP_TLS_FIND(result, name, parameters) \
    if (!rp_find(library, #name, &tls->name)) return #name;

/// Fills the table, and returns the name of the first function that the library lacks; NULL if it has all of them.
static inline const char *rp_tls_resolve(void *library, rp_tls *tls) {
    RP_TLS_FUNCTIONS(RP_TLS_FIND)
    return NULL;
}

#undef RP_TLS_FIELD
#undef RP_TLS_FIND
#undef RP_TLS_FUNCTIONS

/// Initializes both libraries without their exit handler, and returns whether that succeeded.
static inline int rp_tls_initialize(const rp_tls *tls) {
    // OPENSSL_INIT_NO_ATEXIT: the handler frees memory that other threads may still use while the program ends.
    const uint64_t no_exit_handler = 0x00080000, strings = 0x00200000 | 0x2;
    return tls->OPENSSL_init_crypto(no_exit_handler, NULL) == 1 &&
           tls->OPENSSL_init_ssl(no_exit_handler | strings, NULL) == 1;
}

// MARK: Constants

static const int rp_tls_error_none = 0;
static const int rp_tls_error_protocol = 1;
static const int rp_tls_error_want_read = 2;
static const int rp_tls_error_want_write = 3;
static const int rp_tls_error_system = 5;
static const int rp_tls_error_close_notify = 6;

/// The maximum numbers of receives and records in one call.
static const int rp_tls_receive_limit = 64;
static const int rp_tls_record_limit = 64;

/// The limits for records and bytes without data, which end the connection: after the handshake, and in the handshake
/// as a whole. OpenSSL skips some messages without counting them; without limits, one of its calls could process them
/// forever.
static const int rp_tls_quiet_record_limit = 32;
static const size_t rp_tls_quiet_byte_limit = 64 << 10;
// OpenSSL accepts certificates of up to 100 KiB; in the smallest fragments of RFC 6066 §4 these are 200 records.
static const int rp_tls_handshake_record_limit = 512;
static const size_t rp_tls_handshake_byte_limit = 256 << 10;

// MARK: Bytes below the records

/// The socket of a connection, and what is kept of its transfers.
///
/// Records that the socket does not accept are kept in `pending`, so that OpenSSL never has to repeat a write.
typedef struct {
    const rp_tls *tls;
    int descriptor;
    /// The error numbers of the first receive and the first send that failed; 0 if none has.
    int receive_error, send_error;
    /// Whether the peer has closed its direction of the socket.
    int ended;
    /// Whether records are collected in `pending` until the end of a write.
    int gathers;
    /// The number of receives that the current call may make; without a limit, a peer that sends bytes one by one could
    /// prolong the call without end.
    int receives_left;
    /// The number of records that the current call may receive.
    int records_left;
    /// Whether the handshake is complete.
    int is_established;
    /// The numbers of records and bytes that OpenSSL has received since it last returned data, or since the beginning.
    int quiet_records;
    size_t quiet_bytes;
    /// Whether the connection has ended because the peer sent too many records or bytes without data.
    int is_flooded;
    /// The received header bytes of the current record, and how many bytes of its content have not arrived.
    unsigned char header[5];
    int header_count;
    size_t content_left;
    /// Received bytes beyond a limit. OpenSSL may return data before it needs them.
    unsigned char *kept;
    size_t kept_start, kept_end;
    /// The first bytes received, which reveal a peer that does not use TLS.
    unsigned char first[8];
    int first_count;
    unsigned char *pending;
    size_t pending_start, pending_end, pending_capacity;
    /// The functions of a connection that is not a socket of its own; NULL otherwise. They return the number of bytes,
    /// or a negative error number.
    long (*receive)(void *owner, void *bytes, size_t count);
    long (*transmit)(void *owner, const void *bytes, size_t count);
    /// Receives a session that can be resumed, and returns 1 if it keeps it.
    int (*keep)(void *owner, void *session);
    void *owner;
} rp_tls_io;

static inline long rp_tls_receive(rp_tls_io *io, void *bytes, size_t count) {
    if (io->receive != NULL) return io->receive(io->owner, bytes, count);
    ssize_t result;
    do {
        result = recv(io->descriptor, bytes, count, MSG_DONTWAIT);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -(long)errno : (long)result;
}

static inline long rp_tls_transmit(rp_tls_io *io, const void *bytes, size_t count) {
    if (io->transmit != NULL) return io->transmit(io->owner, bytes, count);
#if defined(__APPLE__)
    const int flags = MSG_DONTWAIT;
#else
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
#endif
    ssize_t result;
    do {
        result = send(io->descriptor, bytes, count, flags);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -(long)errno : (long)result;
}

static inline int rp_tls_would_block(long result) { return result == -EAGAIN || result == -EWOULDBLOCK; }

/// Sends pending records. Returns 1 if none is left, 0 if the socket is full, and -1 if it failed.
static inline int rp_tls_flush(rp_tls_io *io) {
    while (io->pending_start < io->pending_end) {
        if (io->send_error != 0) return -1;
        long sent = rp_tls_transmit(io, io->pending + io->pending_start, io->pending_end - io->pending_start);
        if (rp_tls_would_block(sent)) return 0;
        if (sent < 0) {
            io->send_error = (int)-sent;
            return -1;
        }
        io->pending_start += (size_t)sent;
    }
    io->pending_start = io->pending_end = 0;
    return 1;
}

/// Appends records to those that are pending. Returns whether there is memory, and space within `limit` bytes.
static inline int rp_tls_append(rp_tls_io *io, const void *bytes, size_t count, size_t limit) {
    if (io->pending_start > 0) {
        memmove(io->pending, io->pending + io->pending_start, io->pending_end - io->pending_start);
        io->pending_end -= io->pending_start;
        io->pending_start = 0;
    }
    if (io->pending_end + count > limit) return 0;
    if (io->pending_end + count > io->pending_capacity) {
        // A batch is allocated whole, because it is filled; anything else is small.
        size_t capacity = io->gathers ? limit : io->pending_end + count;
        unsigned char *larger = (unsigned char *)realloc(io->pending, capacity);
        if (larger == NULL) return 0;
        io->pending = larger;
        io->pending_capacity = capacity;
    }
    memcpy(io->pending + io->pending_end, bytes, count);
    io->pending_end += count;
    return 1;
}

/// Frees the memory of pending records if there are none.
static inline void rp_tls_trim(rp_tls_io *io) {
    if (io->pending == NULL || io->pending_end > 0) return;
    free(io->pending);
    io->pending = NULL;
    io->pending_capacity = 0;
}

// MARK: The callbacks of OpenSSL

/// The table of this process. A callback receives objects of OpenSSL only, and needs its functions to reach ours.
///
/// Every object file has its own; `rp_tls_callbacks_make` sets the one that its callbacks use.
static inline const rp_tls **rp_tls_of_callbacks(void) {
    static const rp_tls *tls = NULL;
    return &tls;
}

/// Whether the records or bytes without data have reached their limit, and the current record is complete.
static inline int rp_tls_is_quiet_for_too_long(const rp_tls_io *io) {
    if (io->content_left > 0 || io->header_count > 0) return 0;
    return io->is_established ? io->quiet_records >= rp_tls_quiet_record_limit ||
                                    io->quiet_bytes >= rp_tls_quiet_byte_limit
                              : io->quiet_records >= rp_tls_handshake_record_limit ||
                                    io->quiet_bytes >= rp_tls_handshake_byte_limit;
}

/// Whether the current call has received as many records as it may, each of them complete.
static inline int rp_tls_has_used_records(const rp_tls_io *io) {
    return io->records_left <= 0 && io->content_left == 0 && io->header_count == 0;
}

/// Begins a call of OpenSSL with a limited amount of work.
static inline void rp_tls_begin_call(rp_tls_io *io) {
    io->receives_left = rp_tls_receive_limit;
    io->records_left = rp_tls_record_limit;
}

/// Counts the records in `bytes`, and returns the number of bytes before the first one beyond the limits.
static inline size_t rp_tls_count_records(rp_tls_io *io, const unsigned char *bytes, size_t count) {
    size_t position = 0;
    while (position < count && !rp_tls_is_quiet_for_too_long(io) && !rp_tls_has_used_records(io)) {
        size_t step = 1;
        if (io->content_left > 0) {
            step = io->content_left < count - position ? io->content_left : count - position;
            io->content_left -= step;
        } else {
            if (io->header_count == 0) {
                io->quiet_records++;
                io->records_left--;
            }
            io->header[io->header_count++] = bytes[position];
            if (io->header_count == (int)sizeof io->header) {
                io->content_left = (size_t)io->header[3] << 8 | io->header[4];
                io->header_count = 0;
            }
        }
        position += step;
        io->quiet_bytes += step;
    }
    return position;
}

/// Records that OpenSSL has returned data, or completed the handshake.
static inline void rp_tls_end_quiet(rp_tls_io *io) {
    io->quiet_records = 0;
    io->quiet_bytes = 0;
}

/// Whether bytes have been received that OpenSSL has not processed.
static inline int rp_tls_has_unread(const rp_tls_io *io, void *ssl) {
    return io->kept != NULL || io->tls->SSL_has_pending(ssl);
}

/// Receives at most `count` bytes (at least 1), kept bytes first, and ends before the first record beyond the limits.
static inline long rp_tls_receive_records(rp_tls_io *io, unsigned char *bytes, size_t count) {
    if (io->kept != NULL) {
        size_t left = io->kept_end - io->kept_start;
        size_t accepted = rp_tls_count_records(io, io->kept + io->kept_start, left < count ? left : count);
        memcpy(bytes, io->kept + io->kept_start, accepted);
        io->kept_start += accepted;
        if (io->kept_start == io->kept_end) {
            free(io->kept);
            io->kept = NULL;
        }
        return (long)accepted;
    }
    long received = rp_tls_receive(io, bytes, count);
    if (received <= 0) return received;
    for (long index = 0; index < received && io->first_count < (int)sizeof io->first; index++) {
        io->first[io->first_count++] = bytes[index];
    }
    size_t accepted = rp_tls_count_records(io, bytes, (size_t)received);
    if (accepted < (size_t)received) {
        io->kept_start = 0;
        io->kept_end = (size_t)received - accepted;
        io->kept = (unsigned char *)malloc(io->kept_end);
        if (io->kept == NULL) return -ENOMEM;
        memcpy(io->kept, bytes + accepted, io->kept_end);
    }
    return (long)accepted;
}

static inline int rp_tls_bio_read(void *bio, char *bytes, int count) {
    const rp_tls *tls = *rp_tls_of_callbacks();
    rp_tls_io *io = (rp_tls_io *)tls->BIO_get_data(bio);
    const int retry = 1 | 8, all = 15;  // BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY, and all flags of retries
    tls->BIO_clear_flags(bio, all);
    if (bytes == NULL || count <= 0) return 0;
    // OpenSSL has processed all records before it reads again.
    if (rp_tls_is_quiet_for_too_long(io)) {
        io->is_flooded = 1;
        return -1;
    }
    if (rp_tls_has_used_records(io)) io->receives_left = 0;
    if (io->receives_left == 0) {
        tls->BIO_set_flags(bio, retry);
        return -1;
    }
    io->receives_left--;
    long received = rp_tls_receive_records(io, (unsigned char *)bytes, (size_t)count);
    if (received > 0) return (int)received;
    if (received == 0) {
        io->ended = 1;
        return 0;
    }
    if (rp_tls_would_block(received)) {
        tls->BIO_set_flags(bio, retry);
    } else {
        io->receive_error = (int)-received;
    }
    return -1;
}

static inline int rp_tls_bio_write(void *bio, const char *bytes, int count) {
    const rp_tls *tls = *rp_tls_of_callbacks();
    rp_tls_io *io = (rp_tls_io *)tls->BIO_get_data(bio);
    const int retry = 2 | 8, all = 15;  // BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY, and all flags of retries
    // Eight records with their headers and tags; the replies to messages of the peer, when the socket is full.
    const size_t batch = 8 * (16384 + 256), limit = 2 * batch;
    tls->BIO_clear_flags(bio, all);
    if (bytes == NULL || count <= 0) return 0;
    long sent = 0;
    if (!io->gathers) {
        int flushed = rp_tls_flush(io);
        if (flushed < 0) return -1;
        if (flushed == 1) {
            sent = rp_tls_transmit(io, bytes, (size_t)count);
            if (sent < 0 && !rp_tls_would_block(sent)) {
                io->send_error = (int)-sent;
                return -1;
            }
            if (sent < 0) sent = 0;
        }
    }
    if (sent == count || rp_tls_append(io, bytes + sent, (size_t)(count - sent), io->gathers ? batch : limit)) {
        return count;
    }
    tls->BIO_set_flags(bio, retry);
    return sent > 0 ? (int)sent : -1;
}

static inline long rp_tls_bio_control(void *bio, int command, long number, void *value) {
    const rp_tls *tls = *rp_tls_of_callbacks();
    const int is_at_end = 2, flush = 11;  // BIO_CTRL_EOF, BIO_CTRL_FLUSH
    (void)number;
    (void)value;
    if (command == flush) return 1;
    if (command == is_at_end) {
        rp_tls_io *io = (rp_tls_io *)tls->BIO_get_data(bio);
        return io != NULL && io->ended;
    }
    return 0;
}

static inline int rp_tls_new_session(void *ssl, void *session) {
    const rp_tls *tls = *rp_tls_of_callbacks();
    rp_tls_io *io = (rp_tls_io *)tls->SSL_get_ex_data(ssl, 0);
    return io != NULL && io->keep != NULL ? io->keep(io->owner, session) : 0;
}

typedef struct {
    /// The BIO_METHOD of every connection; NULL without memory.
    void *method;
    int (*new_session)(void *ssl, void *session);
} rp_tls_callbacks;

/// Creates the callbacks for a table, which must stay in memory; call it once in a process, and from one source file.
static inline rp_tls_callbacks rp_tls_callbacks_make(const rp_tls *tls) {
    const int source_sink = 0x400;
    rp_tls_callbacks callbacks = {NULL, rp_tls_new_session};
    *rp_tls_of_callbacks() = tls;
    void *method = tls->BIO_meth_new(tls->BIO_get_new_index() | source_sink, "socket");
    if (method != NULL && tls->BIO_meth_set_read(method, rp_tls_bio_read) == 1 &&
        tls->BIO_meth_set_write(method, rp_tls_bio_write) == 1 &&
        tls->BIO_meth_set_ctrl(method, rp_tls_bio_control) == 1) {
        callbacks.method = method;
    }
    return callbacks;
}

/// Gives `ssl` a BIO over `io`, which must stay in memory for its lifetime; returns whether there was memory.
static inline int rp_tls_attach(rp_tls_io *io, void *ssl, void *method) {
    void *bio = io->tls->BIO_new(method);
    if (bio == NULL) return 0;
    io->tls->BIO_set_data(bio, io);
    io->tls->BIO_set_init(bio, 1);
    // One reference for both directions (SSL_set_bio(3)).
    io->tls->SSL_set_bio(ssl, bio, bio);
    return io->tls->SSL_set_ex_data(ssl, 0, io) == 1;
}

// MARK: Transfers
// Each makes its calls of OpenSSL, and SSL_get_error, without leaving the thread.

/// Forgets errors that other code has left on this thread; with them SSL_get_error would report failures.
static inline void rp_tls_forget_errors(const rp_tls *tls) {
    // Clearing costs ten times as much as checking.
    if (tls->ERR_peek_error() != 0) tls->ERR_clear_error();
}

/// Continues the handshake, and returns a code of SSL_get_error; 0 when it is complete.
static inline int rp_tls_handshake(rp_tls_io *io, void *ssl) {
    rp_tls_forget_errors(io->tls);
    rp_tls_begin_call(io);
    int result = io->tls->SSL_do_handshake(ssl);
    if (result != 1) return io->tls->SSL_get_error(ssl, result);
    io->is_established = 1;
    rp_tls_end_quiet(io);
    return rp_tls_error_none;
}

/// Reads the records that have arrived into `bytes`, and stores the number of bytes in `*moved`. Returns a code of
/// SSL_get_error: 0 if `bytes` is full or no received record is left; want_read also at the limits of a call.
static inline int rp_tls_read(rp_tls_io *io, void *ssl, void *bytes, size_t count, size_t *moved) {
    const size_t longest = 1 << 30;
    *moved = 0;
    rp_tls_forget_errors(io->tls);
    rp_tls_begin_call(io);
    do {
        size_t space = count - *moved < longest ? count - *moved : longest;
        int result = io->tls->SSL_read(ssl, (char *)bytes + *moved, (int)space);
        if (result <= 0) return io->tls->SSL_get_error(ssl, result);
        rp_tls_end_quiet(io);
        *moved += (size_t)result;
        // Without bytes of a further record another read would cost a system call that finds nothing.
    } while (*moved < count && rp_tls_has_unread(io, ssl));
    return rp_tls_error_none;
}

static inline int rp_tls_write_part(rp_tls_io *io, void *ssl, const void *bytes, size_t count, size_t *moved) {
    size_t written = 0;
    while (written < count) {
        int result = io->tls->SSL_write(ssl, (const char *)bytes + written, (int)(count - written));
        if (result <= 0) return io->tls->SSL_get_error(ssl, result);
        written += (size_t)result;
        *moved += (size_t)result;
    }
    return rp_tls_error_none;
}

/// Writes up to eight records of two buffers, whose first bytes share one, and stores the number of bytes in `*moved`.
/// Returns a code of SSL_get_error. The records are sent with one system call if the socket accepts them.
static inline int rp_tls_write(rp_tls_io *io, void *ssl, const void *first, size_t first_count, const void *second,
                               size_t second_count, size_t *moved) {
    const size_t record = 16384, batch = 8 * record;
    unsigned char joined[16384];
    size_t from_first = 0, from_second = 0;
    int code = rp_tls_error_none;
    *moved = 0;
    rp_tls_forget_errors(io->tls);
    // A write reads only to complete a message that has arrived in part, such as a ticket.
    rp_tls_begin_call(io);
    io->gathers = first_count + second_count > record;
    if (first_count > 0 && first_count < record && second_count > 0) {
        from_first = first_count;
        from_second = second_count < record - first_count ? second_count : record - first_count;
        memcpy(joined, first, first_count);
        memcpy(joined + first_count, second, from_second);
        code = rp_tls_write_part(io, ssl, joined, from_first + from_second, moved);
    }
    if (code == rp_tls_error_none && from_first < first_count) {
        size_t count = first_count < batch ? first_count : batch;
        code = rp_tls_write_part(io, ssl, first, count, moved);
    }
    if (code == rp_tls_error_none && from_second < second_count && *moved < batch) {
        size_t left = second_count - from_second, space = batch - *moved;
        code = rp_tls_write_part(io, ssl, (const char *)second + from_second, left < space ? left : space, moved);
    }
    io->gathers = 0;
    return code;
}

/// Sends a KeyUpdate to which the peer must respond with one. Returns a code of SSL_get_error, which is an error before
/// TLS 1.3 and after the connection has failed.
static inline int rp_tls_update_keys(rp_tls_io *io, void *ssl) {
    rp_tls_forget_errors(io->tls);
    rp_tls_begin_call(io);
    int result = io->tls->SSL_key_update(ssl, 1);
    if (result == 1) result = io->tls->SSL_do_handshake(ssl);
    return result == 1 ? rp_tls_error_none : io->tls->SSL_get_error(ssl, result);
}

/// Sends close_notify if the socket accepts it.
static inline void rp_tls_close(rp_tls_io *io, void *ssl) {
    rp_tls_forget_errors(io->tls);
    rp_tls_begin_call(io);
    if (io->tls->SSL_shutdown(ssl) < 0) io->tls->ERR_clear_error();
}

#endif
