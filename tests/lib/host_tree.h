/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's collector on a tree of files made for one test, which changes from reading to reading. Include after
 * cmocka.h. */
#ifndef TESTS_HOST_TREE_H
#define TESTS_HOST_TREE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "files.h"
#include "recorder/collectors/host/host.h"

struct host_tree {
    char dir[64];
    struct host *host;
    uint32_t ids;
    struct baro_sample sample;
    uint64_t now_ns;
};

/* Writes a file below the machine's folder, in place: open descriptors see the change. */
static inline void put(const struct host_tree *m, const char *path, const char *text)
{
    files_put(m->dir, path, text);
}

static inline void machine_new(struct host_tree *m)
{
    memset(m, 0, sizeof(*m));
    files_make(m->dir);
    put(m, "proc/self/mountinfo", "");
    put(m, "sys/class/block/.keep", "");
    put(m, "sys/class/net/.keep", "");
}

static inline void machine_open(struct host_tree *m, bool helper)
{
    char proc[80], sys[80];
    snprintf(proc, sizeof(proc), "%s/proc", m->dir);
    snprintf(sys, sizeof(sys), "%s/sys", m->dir);
    struct host_options o = {.proc_fd = open(proc, O_RDONLY | O_DIRECTORY),
                             .sys_fd = open(sys, O_RDONLY | O_DIRECTORY),
                             .clk_tck = 100,
                             .page_size = 4096,
                             .helper = helper,
                             .entity_ids = &m->ids};
    assert_int_equal(host_new(&m->host, &o, NULL), 0);
}

static inline void host_tree_read(struct host_tree *m)
{
    m->now_ns += 100 * NS_PER_MS;
    host_read(m->host, m->now_ns, BUDGET_ALL);
    host_fill(m->host, &m->sample);
    assert_true(m->sample.has_host && m->sample.host_ns == m->now_ns);
}

static inline void machine_done(struct host_tree *m)
{
    host_free(m->host);
    files_remove(m->dir);
}

static inline const struct baro_entity *named(const struct host_tree *m, enum baro_kind kind, const char *name)
{
    for (size_t i = 0; i < m->sample.entities[kind].n; i++) {
        if (strcmp(m->sample.entities[kind].at[i]->name, name) == 0)
            return m->sample.entities[kind].at[i];
    }
    return NULL;
}

static inline void is(const struct host_tree *m, enum host_metric metric, uint64_t value)
{
    if (m->sample.host_absent[metric] || m->sample.host[metric] != value)
        print_message("%s: %llu %s\n", baro_metric_get(BARO_KIND_HOST, metric)->name,
                      (unsigned long long)m->sample.host[metric], baro_absent_name(m->sample.host_absent[metric]));
    assert_int_equal(m->sample.host_absent[metric], BARO_PRESENT);
    assert_int_equal(m->sample.host[metric], value);
}

static inline void lacks(const struct host_tree *m, enum host_metric metric, enum baro_absent why)
{
    assert_int_equal(m->sample.host_absent[metric], why);
    assert_int_equal(m->sample.host[metric], 0);
}

#endif
