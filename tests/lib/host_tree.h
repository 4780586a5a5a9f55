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

/* The machine of a test: made before it, and removed after it. */
static struct {
    char dir[64];
    struct host *host;
    uint32_t ids;
    struct baro_sample sample;
    uint64_t now_ns;
} m;

/* Writes a file below the machine's folder, in place: open descriptors see the change. */
static inline void put(const char *path, const char *text)
{
    files_put(m.dir, path, text);
}

static inline int machine_new(void **state)
{
    memset(&m, 0, sizeof(m));
    files_make(m.dir);
    put("proc/self/mountinfo", "");
    put("sys/class/block/.keep", "");
    put("sys/class/net/.keep", "");
    return 0;
}

static inline int machine_done(void **state)
{
    host_free(m.host);
    files_remove(m.dir);
    return 0;
}

static inline void machine_again(void)
{
    machine_done(NULL);
    machine_new(NULL);
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, machine_new, machine_done)

static inline void host_tree_read(void)
{
    m.now_ns += 100 * NS_PER_MS;
    host_read(m.host, m.now_ns, BUDGET_ALL);
    host_fill(m.host, &m.sample);
    assert_true(m.sample.has_host && m.sample.host_ns == m.now_ns);
}

/* Opens the machine's folder, and reads it once. */
static inline void machine_open(bool helper)
{
    char proc[80], sys[80];
    snprintf(proc, sizeof(proc), "%s/proc", m.dir);
    snprintf(sys, sizeof(sys), "%s/sys", m.dir);
    struct host_options o = {.proc_fd = open(proc, O_RDONLY | O_DIRECTORY),
                             .sys_fd = open(sys, O_RDONLY | O_DIRECTORY),
                             .clk_tck = 100,
                             .page_size = 4096,
                             .helper = helper,
                             .entity_ids = &m.ids};
    assert_int_equal(host_new(&m.host, &o, NULL), 0);
    host_tree_read();
}

static inline const struct baro_entity *named(enum baro_kind kind, const char *name)
{
    for (size_t i = 0; i < m.sample.entities[kind].n; i++) {
        if (strcmp(m.sample.entities[kind].at[i]->name, name) == 0)
            return m.sample.entities[kind].at[i];
    }
    return NULL;
}

static inline void is(enum host_metric metric, uint64_t value)
{
    if (m.sample.host_absent[metric] || m.sample.host[metric] != value)
        print_message("%s: %llu %s\n", baro_metric_get(BARO_KIND_HOST, metric)->name,
                      (unsigned long long)m.sample.host[metric], baro_absent_name(m.sample.host_absent[metric]));
    assert_int_equal(m.sample.host_absent[metric], BARO_PRESENT);
    assert_int_equal(m.sample.host[metric], value);
}

static inline void lacks(enum host_metric metric, enum baro_absent why)
{
    assert_int_equal(m.sample.host_absent[metric], why);
    assert_int_equal(m.sample.host[metric], 0);
}

#endif
