/* SPDX-License-Identifier: Apache-2.0 */
#include "sockets/interfaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "procfs/machine.h"

static struct interface *find(const struct interfaces *t, struct span name)
{
    for (size_t i = 0; i < t->n; i++) {
        if (strlen(t->at[i].name) == name.len && !memcmp(t->at[i].name, name.at, name.len))
            return &t->at[i];
    }
    return NULL;
}

static struct interface *add(struct interfaces *t, struct span name)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 4;
        struct interface *at = realloc(t->at, cap * sizeof(*at));
        if (!at)
            return NULL;
        t->at = at;
        t->cap = cap;
    }
    struct interface *ret = &t->at[t->n++];
    *ret = (struct interface){.seen = false};
    memcpy(ret->name, name.at, name.len);
    return ret;
}

/* One whose counters are lower than before was made anew. Example: v had sent 5 MB, is removed, and another v has sent
 * 40 kB since: 5.04 MB. */
static void count(struct interfaces *t, struct interface *one, const struct proc_net *net)
{
    const uint64_t now[2] = {net->receive[NET_BYTES], net->transmit[NET_BYTES]};
    bool anew = now[0] < one->last[0] || now[1] < one->last[1];
    for (int i = 0; i < 2; i++) {
        t->total[i] += anew ? now[i] : now[i] - one->last[i];
        one->last[i] = now[i];
    }
    one->seen = true;
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

int interfaces_take(struct interfaces *t, struct span text, bool base)
{
    struct proc_net net;
    int code = 0;
    for (size_t i = 0; i < t->n; i++)
        t->at[i].seen = false;
    while (proc_net_next(&text, &net)) {
        if (net.name.len >= sizeof(t->at->name) || (net.name.len == 2 && !memcmp(net.name.at, "lo", 2)))
            continue;
        struct interface *one = find(t, net.name);
        if (!one)
            one = add(t, net.name);
        if (one)
            count(t, one, &net);
        else
            code = -ENOMEM;
    }
    if (forget_unseen(t) && !code)
        code = -ENOENT;
    if (base)
        t->total[0] = t->total[1] = 0;
    return code;
}

bool interfaces_any(const struct interfaces *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].last[0] || t->at[i].last[1])
            return true;
    }
    return false;
}
