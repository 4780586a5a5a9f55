/* SPDX-License-Identifier: Apache-2.0 */
/* The full name of a process. The kernel keeps 15 bytes of it (TASK_COMM_LEN); the rest is taken from exe or from the
 * arguments. */
#include "kernel/proc/procfs.h"

enum { COMM_MAX = 15, NAME_MAX_BYTES = 255, ARGS_MAX = 16 };

static bool begins_with(struct span name, struct span comm)
{
    return name.len >= comm.len && memcmp(name.at, comm.at, comm.len) == 0;
}

static struct span without_suffix(struct span s, const char *suffix)
{
    size_t len = strlen(suffix);
    if (s.len > len && memcmp(s.at + s.len - len, suffix, len) == 0)
        s.len -= len;
    return s;
}

/* Programs write titles over their arguments ("postgres: checkpointer"), options included: only the first word, with
 * which comm begins, is used. */
static struct span first_word(struct span name, size_t from)
{
    for (size_t i = from; i < name.len; i++)
        if (name.at[i] == ' ' || name.at[i] == '\t' || name.at[i] == '\n' || name.at[i] == '=')
            return span_of(name.at, i);
    return name;
}

static bool next_argument(struct span *rest, struct span *ret)
{
    if (!rest->len)
        return false;
    const char *nul = memchr(rest->at, 0, rest->len);
    size_t len = nul ? (size_t)(nul - rest->at) : rest->len;
    *ret = span_of(rest->at, len);
    size_t used = nul ? len + 1 : len;
    *rest = span_of(rest->at + used, rest->len - used);
    return true;
}

/* argv[0], or the script after an interpreter's options: the kernel names the process after the script. */
static struct span from_arguments(struct span comm, struct span cmdline)
{
    struct span argument;
    for (int i = 0; i < ARGS_MAX && next_argument(&cmdline, &argument); i++) {
        /* A path may contain a blank, and the rest of a title may contain a slash, so both are tried. */
        struct span name = span_base_name(argument);
        if (!begins_with(name, comm))
            name = span_base_name(first_word(argument, 0));
        if (begins_with(name, comm))
            return first_word(name, comm.len);
    }
    return comm;
}

void pid_name(struct span comm, struct span exe, struct span cmdline, struct buf *ret)
{
    struct span name = comm;
    if (comm.len == COMM_MAX) {
        name = span_base_name(without_suffix(exe, " (deleted)"));
        if (!begins_with(name, comm))
            name = from_arguments(comm, cmdline);
    }
    buf_add(ret, name.at, name.len < NAME_MAX_BYTES ? name.len : NAME_MAX_BYTES);
}
