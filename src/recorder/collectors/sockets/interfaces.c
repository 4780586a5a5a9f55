/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/interfaces.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "kernel/proc/machine.h"

static struct interface *find_interface(const struct interfaces *t, struct span name)
{
    for (size_t i = 0; i < t->n; i++) {
        if (strlen(t->at[i].name) == name.len && !memcmp(t->at[i].name, name.at, name.len))
            return &t->at[i];
    }
    return NULL;
}

/* There is room for it and a NUL: next_interface(). */
static void set_name(struct interface *one, struct span name)
{
    memset(one->name, 0, sizeof(one->name));
    memcpy(one->name, name.at, name.len);
}

static struct interface *add_interface(struct interfaces *t, struct span name)
{
    if (array_reserve(&t->at, t->n + 1, &t->cap, sizeof(*t->at)) < 0)
        return NULL;
    struct interface *ret = &t->at[t->n++];
    *ret = (struct interface){.seen = true};
    set_name(ret, name);
    return ret;
}

static bool passed(const struct interface *one, const struct proc_net *net)
{
    return net->receive[NET_BYTES] >= one->last[0] && net->transmit[NET_BYTES] >= one->last[1];
}

/* Finds an interface that is missing in the text now and may have been renamed to this name. If it was removed instead,
 * and the new one is another interface, the new one's bytes are counted too low. */
static struct interface *renamed(const struct interfaces *t, const struct proc_net *net)
{
    for (size_t i = 0; i < t->n; i++) {
        struct interface *one = &t->at[i];
        if (!one->seen && (one->last[0] || one->last[1]) && passed(one, net))
            return one;
    }
    return NULL;
}

/* Unlike a reader (base/growth.h), this knows that a counter which is lower than before began anew at 0: the interface
 * was removed and made again, or the former counter was that of the other end of a veth, which was removed. Example: v
 * had sent 5 MB, is removed, and another v has sent 40 kB since: 5.04 MB. Returns false if there may have been more. */
static bool count_bytes(struct interfaces *t, struct interface *one, const struct proc_net *net, bool is_theirs)
{
    const uint64_t now[2] = {net->receive[NET_BYTES], net->transmit[NET_BYTES]};
    bool is_whole = passed(one, net);
    for (int i = 0; i < 2; i++) {
        if (!is_theirs)
            t->total[i] += now[i] < one->last[i] ? now[i] : now[i] - one->last[i];
        one->last[i] = now[i];
    }
    return is_whole;
}

static bool next_interface(struct span *text, struct proc_net *ret)
{
    while (proc_net_next(text, ret)) {
        if (ret->name.len < sizeof(((struct interface *)0)->name) &&
            (ret->name.len != 2 || memcmp(ret->name.at, "lo", 2) != 0))
            return true;
    }
    return false;
}

static void see(struct interfaces *t, struct span text)
{
    struct proc_net net;
    for (size_t i = 0; i < t->n; i++)
        t->at[i].seen = false;
    while (next_interface(&text, &net)) {
        struct interface *one = find_interface(t, net.name);
        if (one)
            one->seen = true;
    }
}

static bool forget_unseen(struct interfaces *t)
{
    size_t n = 0, before = t->n;
    for (size_t i = 0; i < before; i++) {
        if (t->at[i].seen)
            t->at[n++] = t->at[i];
    }
    t->n = n;
    return n < before;
}

int interfaces_take(struct interfaces *t, struct span text, bool is_theirs)
{
    struct proc_net net;
    bool is_whole = true, failed = false;
    see(t, text);
    while (next_interface(&text, &net)) {
        struct interface *one = find_interface(t, net.name);
        if (!one && (one = renamed(t, &net))) {
            set_name(one, net.name);
            is_whole = false;
        }
        if (!one)
            one = add_interface(t, net.name);
        failed = failed || !one;
        is_whole = one && count_bytes(t, one, &net, is_theirs) && is_whole;
        if (one)
            one->seen = true;
    }
    is_whole = !forget_unseen(t) && is_whole;
    return failed ? -ENOMEM : is_whole ? 0 : -ENOENT;
}

bool interfaces_any(const struct interfaces *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].last[0] || t->at[i].last[1])
            return true;
    }
    return false;
}
