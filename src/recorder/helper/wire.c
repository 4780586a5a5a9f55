/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "recorder/helper/wire.h"

/* A string whose last byte is a NUL, or NULL. */
static const char *text_at(const unsigned char *at, uint32_t len)
{
    return len && at[len - 1] == 0 ? (const char *)at : NULL;
}

bool helper_wire_next(const unsigned char **at, size_t *len, uint64_t *ret_serial, struct helper_reply *ret)
{
    struct helper_wire_reply w;
    if (*len < sizeof(w))
        return false;
    memcpy(&w, *at, sizeof(w));
    size_t rest = *len - sizeof(w);
    if (w.name_len > rest || w.cmdline_len > rest - w.name_len)
        return false;
    const unsigned char *text = *at + sizeof(w);
    struct helper_reply reply = {
        .smaps_absent = w.smaps_absent, .name_absent = w.name_absent, .cmdline_absent = w.cmdline_absent};
    reply.pss = w.pss;
    reply.uss = w.uss;
    reply.pss_parts_absent = w.pss_parts_absent;
    reply.pss_anon = w.pss_anon;
    reply.pss_shmem = w.pss_shmem;
    reply.spent_ns = w.spent_ns;
    reply.name = text_at(text, w.name_len);
    reply.cmdline = text_at(text + w.name_len, w.cmdline_len);
    reply.host_absent = w.host_absent;
    memcpy(reply.host, w.host, sizeof(reply.host));
    reply.data = reply.cmdline;
    reply.data_len = w.cmdline_len ? w.cmdline_len - 1 : 0;
    if ((!reply.name && w.name_len) || (!reply.cmdline && w.cmdline_len) || w.name_len > HELPER_NAME_MAX ||
        w.cmdline_len > HELPER_CMDLINE_MAX + 1 || w.smaps_absent >= ABSENT_COUNT ||
        w.pss_parts_absent >= ABSENT_COUNT || w.name_absent >= ABSENT_COUNT || w.cmdline_absent >= ABSENT_COUNT ||
        w.host_absent >= ABSENT_COUNT)
        return false;
    size_t used = (sizeof(w) + w.name_len + w.cmdline_len + 7) & ~(size_t)7;
    used = used < *len ? used : *len;
    *at += used;
    *len -= used;
    *ret_serial = w.serial;
    *ret = reply;
    return true;
}
