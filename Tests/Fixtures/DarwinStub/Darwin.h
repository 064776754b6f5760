// What the sources use of Darwin that Linux lacks or declares otherwise. Values and prototypes are copied from Darwin's
// manual; nothing is called.
#ifndef REQUESTS_STUB_DARWIN_H
#define REQUESTS_STUB_DARWIN_H
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#define SO_NOSIGPIPE 0x1022
#ifndef EAI_NODATA
#define EAI_NODATA 7
#endif

// Darwin has other options in their place.
#undef TCP_KEEPIDLE
#define TCP_KEEPALIVE 0x10
#undef IP_BIND_ADDRESS_NO_PORT

struct sf_hdtr;
int sendfile(int file, int socket, off_t offset, off_t *length, struct sf_hdtr *headers, int flags);
int pthread_setname_np(const char *name);

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_ONESHOT 0x0010
#define EV_EOF 0x8000

struct kevent64_s {
    uint64_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t fflags;
    int64_t data;
    uint64_t udata;
    uint64_t ext[2];
};

int kqueue(void);
int kevent64(
    int queue, const struct kevent64_s *changes, int change_count, struct kevent64_s *events, int event_count,
    unsigned int flags, const struct timespec *timeout);
#endif
