/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/span.h"

#define BACKLOG 511
#define SEND_BYTES                                                                                                     \
    131072 /* that the kernel holds of an answer; left to it, 4 MB for each client that does not read                  \
            */

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un path;
};

static int wrong(const char *text, struct baro_error *err)
{
    return error_set(err, BARO_E_SYNTAX,
                     "can't listen on '%s': write ADDR:PORT with a numeric address, *:PORT or "
                     "unix:PATH",
                     text);
}

/* Returns the length of the address, or a negative code. */
static int parse(const char *text, union address *a, struct baro_error *err)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    uint64_t port = 0;
    struct span digits = span_str(colon ? colon + 1 : "");
    size_t len = colon ? (size_t)(colon - text) : sizeof(host);
    if (len >= sizeof(host) || !scan_u64(&digits, &port) || digits.len || port > 65535)
        return wrong(text, err);
    memcpy(host, text, len);
    host[len] = 0;
    memset(a, 0, sizeof(*a));
    if (host[0] == '[' && len > 2 && host[len - 1] == ']') {
        host[len - 1] = 0;
        a->six.sin6_family = AF_INET6;
        a->six.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &a->six.sin6_addr) == 1 ? (int)sizeof(a->six) : wrong(text, err);
    }
    const char *numeric = strcmp(host, "localhost") == 0 ? "127.0.0.1" : strcmp(host, "*") == 0 ? "0.0.0.0" : host;
    a->four.sin_family = AF_INET;
    a->four.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, numeric, &a->four.sin_addr) == 1 ? (int)sizeof(a->four) : wrong(text, err);
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
    return ntohl(a->four.sin_addr.s_addr) >> 24 == 127;
}

/* Writes the URL, with the port that the kernel chose if 0 was given. */
static void write_url(struct listener *l)
{
    union address a;
    socklen_t size = sizeof(a);
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(l->fd, &a.any, &size) < 0)
        return;
    bool is_six = a.any.sa_family == AF_INET6;
    inet_ntop(a.any.sa_family, is_six ? (void *)&a.six.sin6_addr : (void *)&a.four.sin_addr, host, sizeof(host));
    snprintf(l->url, sizeof(l->url), is_six ? "http://[%s]:%u/" : "http://%s:%u/", host,
             ntohs(is_six ? a.six.sin6_port : a.four.sin_port));
}

/* Removes a Unix socket on which no process listens: a server that was killed has left it. */
static void remove_stale(const union address *a)
{
    struct stat st;
    if (stat(a->path.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, &a->any, sizeof(a->path)) < 0 && errno == ECONNREFUSED)
        unlink(a->path.sun_path);
    fd_close(fd);
}

static int open_unix(const char *path, struct listener *l, struct baro_error *err)
{
    union address a = {.path = {.sun_family = AF_UNIX}};
    if (!*path || strlen(path) >= sizeof(a.path.sun_path))
        return error_set(err, -ENAMETOOLONG, "can't listen on unix:%s: a path of a socket has 1 to %zu bytes", path,
                         sizeof(a.path.sun_path) - 1);
    memcpy(a.path.sun_path, path, strlen(path) + 1);
    remove_stale(&a);
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    int code = l->fd < 0 || bind(l->fd, &a.any, sizeof(a.path)) < 0 ? -errno : 0;
    umask(mask);
    if (code == 0) {
        memcpy(l->path, path, strlen(path) + 1);
        snprintf(l->url, sizeof(l->url), "unix:%s", path);
        l->is_local = true;
    }
    return code;
}

static int open_network(const char *text, struct listener *l, struct baro_error *err)
{
    union address a;
    int one = 1, size = parse(text, &a, err);
    if (size < 0)
        return size;
    l->is_local = is_loopback(&a);
    l->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return -errno;
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    return bind(l->fd, &a.any, (socklen_t)size) < 0 ? -errno : 0;
}

int listen_open(const char *text, struct listener *ret, struct baro_error *err)
{
    *ret = (struct listener){.fd = -1};
    struct baro_error why = BARO_ERROR_INIT;
    int code = strncmp(text, "unix:", 5) == 0 ? open_unix(text + 5, ret, &why) : open_network(text, ret, &why);
    if (code == 0 && setsockopt(ret->fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int)) < 0)
        code = -errno; /* accepted sockets inherit it */
    if (code == 0 && listen(ret->fd, BACKLOG) < 0)
        code = -errno;
    if (code < 0) {
        listen_close(ret);
        return why.text[0] ? error_set(err, code, "%s", why.text)
                           : error_set(err, code, "can't listen on %s: %s%s", text, strerror(-code),
                                       code == -EADDRINUSE ? "; --listen ADDR:PORT takes another one" : "");
    }
    if (!*ret->path)
        write_url(ret);
    return 0;
}

void listen_close(struct listener *l)
{
    l->fd = fd_close(l->fd);
    if (*l->path)
        unlink(l->path);
    l->path[0] = 0;
}
