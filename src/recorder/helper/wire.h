/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the recorder and its helper process: packets of a SOCK_SEQPACKET pair, each with as many
 * requests or replies as fit. Both ends are one binary, so structs are sent as they are. Lengths are checked
 * nevertheless, because the helper handles bytes of other processes.
 */
#ifndef RECORDER_HELPER_WIRE_H
#define RECORDER_HELPER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "recorder/helper/helper.h"

#define HELPER_REQUESTS_BYTES 8192u
#define HELPER_PACKET_BYTES 16384u
#define HELPER_NAME_MAX 256u     /* with its NUL */
#define HELPER_CMDLINE_MAX 4096u /* without */

struct helper_wire_request {
    uint64_t serial; /* grows by one with each request; from 1 */
    struct baro_key key;
    uint32_t what, path_len; /* with its NUL; 0: none. It follows, padded to 8 bytes */
};
#define HELPER_PATH_MAX 4096u

/* Followed by the name and the command line, each with a NUL, padded to 8 bytes. */
struct helper_wire_reply {
    uint64_t serial;
    uint64_t pss, uss, pss_anon, pss_shmem, spent_ns;
    uint64_t host[HELPER_VALUES];
    uint32_t name_len, cmdline_len; /* with their NUL; 0: none */
    uint8_t smaps_absent, pss_parts_absent, name_absent, cmdline_absent, host_absent, padding[3];
};

#define HELPER_REPLY_MOST (sizeof(struct helper_wire_reply) + HELPER_NAME_MAX + HELPER_CMDLINE_MAX + 16u)

/* Memory that both processes see: what the helper is reading. So the recorder knows where a helper hangs, without a
 * packet for each read. */
struct helper_progress {
    struct worker_shared worker;
    _Atomic uint64_t serial;
};

/* Takes the first reply off a packet; text is borrowed from it. Returns false if there is none, or one that no helper
 * writes: wrong lengths, texts beyond the limits, reasons that do not exist. Pure. */
bool helper_wire_next(const unsigned char **at, size_t *len, uint64_t *ret_serial, struct helper_reply *ret);

/* What the helper is given when it starts. */
struct helper_setup {
    int kept[2]; /* directory descriptors of /proc and /sys; the latter may be -1 */
    bool want_cmdline;
};

/* child.c: the helper's main function. Its context is a struct helper_setup. */
void helper_live(const struct worker_child *c);

/* serve_host.c, in the helper: what is asked of the machine. Frequencies go into room for HELPER_FREQUENCIES of them,
 * and text is for reading files. Returns what goes back beside *w. */
struct helper_host {
    int proc_fd, sys_fd;
    char *text;
    size_t text_cap;
    struct helper_frequency *frequencies;
};
struct span helper_host_serve(const struct helper_host *host, const struct helper_wire_request *r, const char *path,
                              struct helper_wire_reply *w);

#endif
