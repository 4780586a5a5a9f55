/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/net/dev: two lines of headings, then "  eth0: 468716553   10372    0    0 ...\n". There may be no blank after
 * the colon (before 2.6.38 if the number was long), and an alias has a colon in its name.
 */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

static bool net_line(struct span line, struct proc_net *ret)
{
    const char *end = line.at + line.len, *name = text_blanks(line.at, end), *colon = memrchr(line.at, ':', line.len),
               *p;
    if (!colon || colon <= name)
        return false;
    ret->name = span_of(name, (size_t)(colon - name));
    p = colon + 1;
    for (int i = 0; i < 2 * NET_FIELDS; i++) {
        p = text_digits(text_blanks(p, end), end, i < NET_FIELDS ? &ret->receive[i] : &ret->transmit[i - NET_FIELDS]);
        if (!p || (p < end && *p != ' '))
            return false;
    }
    return true;
}

bool proc_net_next(struct span *text, struct proc_net *ret)
{
    const char *p = text->at, *end = p + text->len;
    struct span line;
    struct proc_net n;
    while (text_line(&p, end, &line)) {
        *text = span_of(p, (size_t)(end - p));
        if (net_line(line, &n)) {
            *ret = n;
            return true;
        }
    }
    return false;
}
