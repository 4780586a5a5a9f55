/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/stat: "cpu  user nice system idle iowait irq softirq steal guest guest_nice", and such a line for each CPU that
 * is online; "intr", a sum followed by a number for each source, which may make the line 100 kB long; "ctxt", "btime",
 * "processes", "procs_running", "procs_blocked".
 */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

#define TICKS_MOST (UINT64_MAX / 1000000) /* of 1 ms, as nanoseconds: 584 years */

static const struct {
    const char *text;
    size_t len;
} keys[PROC_STAT_MAX] = {
#define KEY(field, text) [field] = {text, sizeof(text) - 1}
    KEY(PROC_STAT_SWITCHES, "ctxt "),         KEY(PROC_STAT_INTERRUPTS, "intr "),
    KEY(PROC_STAT_BTIME, "btime "),           KEY(PROC_STAT_FORKS, "processes "),
    KEY(PROC_STAT_RUNNING, "procs_running "), KEY(PROC_STAT_BLOCKED, "procs_blocked "),
#undef KEY
};

/* The kernel counts guest time in user as well, and that of niced guests in nice. Subtracts it; never below 0, because
 * the two are not read at the same instant. A guest's time that can't be true makes the other one too large to be a
 * time, which is then absent. */
static void take_out(struct proc_cpu *c, enum cpu_mode whole, enum cpu_mode part)
{
    if (!(c->valid >> part & 1))
        return;
    if (c->ticks[part] > TICKS_MOST)
        c->ticks[whole] = UINT64_MAX;
    else
        c->ticks[whole] -= c->ticks[part] < c->ticks[whole] ? c->ticks[part] : c->ticks[whole];
}

static bool cpu_line(struct span line, struct proc_cpu *ret)
{
    const char *end = line.at + line.len, *p = line.at + 3;
    struct proc_cpu c = {.number = PROC_CPU_ALL};
    uint64_t v;
    if (p < end && *p != ' ') {
        p = text_digits(p, end, &v);
        if (!p || v >= PROC_CPU_ALL)
            return false;
        c.number = (uint32_t)v;
    }
    for (int i = 0; i < MODE_MAX && p < end; i++) {
        if (*p != ' ')
            return false;
        const char *digits = text_blanks(p, end);
        if (digits == end)
            break;
        p = text_digits(digits, end, &c.ticks[i]);
        if (!p)
            return false;
        c.valid |= 1u << i;
    }
    if (!(c.valid >> MODE_IDLE & 1))
        return false;
    take_out(&c, MODE_USER, MODE_GUEST);
    take_out(&c, MODE_NICE, MODE_GUEST_NICE);
    *ret = c;
    return true;
}

static void other_line(struct span line, struct proc_stat *st)
{
    uint64_t v;
    for (int k = 0; k < PROC_STAT_MAX; k++) {
        if (line.len <= keys[k].len || memcmp(line.at, keys[k].text, keys[k].len) != 0)
            continue;
        if (text_count(line, keys[k].len, &v)) {
            st->value[k] = v;
            st->valid |= 1u << k;
        }
        return;
    }
}

int proc_stat_parse(struct span text, struct proc_stat *ret, proc_cpu_fn *fn, void *context)
{
    const char *p = text.at, *end = p + text.len;
    struct proc_stat st = {0};
    struct proc_cpu cpu;
    struct span line;
    bool any = false;
    while (text_line(&p, end, &line)) {
        if (!TEXT_KEY(line, "cpu")) {
            other_line(line, &st);
            continue;
        }
        if (!cpu_line(line, &cpu))
            continue;
        any = true;
        st.cpus += cpu.number != PROC_CPU_ALL;
        if (fn)
            fn(context, &cpu);
    }
    if (!st.valid && !any)
        return BARO_E_SYNTAX;
    *ret = st;
    return 0;
}
