/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "sockets": what the processes' TCP sockets have sent and received, if that was asked for. */
#ifndef RECORDER_COLLECTORS_SOCKETS_SOCKET_ROW_H
#define RECORDER_COLLECTORS_SOCKETS_SOCKET_ROW_H

#include "recorder/collectors/sockets/sockets.h"
#include "recorder/sampling/sampling.h"

struct socket_row {
    struct sampling *sampling;
    struct sockets *sockets; /* NULL: not asked for, or out of memory */
    struct sockets_totals totals;
    uint64_t due_ns;
    uint64_t asked_ns, read_ns; /* when the last reading was asked for, and the one that was taken */
    bool read;                  /* totals is valid */
    bool closed;                /* the last reading was taken */
};

extern const struct collector socket_collector;
void socket_row_init(struct socket_row *r, struct sampling *sampling);

/* The last reading, to be called before the last exits are reported: so they have what their sockets did to the end. */
void socket_row_close(struct socket_row *r);
/* Puts the job's totals into the sample. */
void socket_row_fill(const struct socket_row *r, struct baro_sample *s);

#endif
