/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets to listen on. */
#ifndef PROGRAMS_BARO_SERVE_LISTEN_H
#define PROGRAMS_BARO_SERVE_LISTEN_H

#include <stdbool.h>
#include <sys/un.h>

#include "baro/error.h"

#define LISTEN_DEFAULT "127.0.0.1:2276"

struct listener {
    int fd;
    bool is_local;                                          /* it can be reached from this machine only */
    char url[160];                                          /* its URL, as it is printed */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* path of a Unix socket; "": it is another one */
};

/* Opens "ADDR:PORT", "[ADDR6]:PORT", "localhost:PORT", "*:PORT" or "unix:PATH". Returns 0 or a negative code. */
int listen_open(const char *text, struct listener *ret, struct baro_error *err);
/* Closes it, and removes a Unix socket. */
void listen_close(struct listener *l);

#endif
