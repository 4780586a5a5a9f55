/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_tape FILE: for tests of readers. Makes a tape from lines on stdin, so that a test knows what is true. Times are
 * in milliseconds, values in the units of the metrics (`baro metrics`):
 *
 *   process PID NAME KEY=VALUE...   these values of a process from the next sample on
 *   sample T KEY=VALUE...           a sample with all processes, and these values of the job
 *   exit T PID NAME KEY=VALUE...    the end of a process, which is in no later sample
 *   begin T NAME                    a phase begins        end T NAME      it ends
 *   ended T                         the command has ended with status 0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/metric.h"
#include "base/clock.h"
#include "libbaro/tape/create.h"
#include "libbaro/writer/writer.h"

enum { MOST = 64 };

static struct tape_writer *writer;
static struct baro_process all[MOST], *rows[MOST];
static struct baro_sample sample;
static uint32_t last_id;

static void fail(const char *what)
{
    fprintf(stderr, "write_tape: %s\n", what);
    exit(1);
}

static char *word(void)
{
    char *w = strtok(NULL, " \n");
    if (!w)
        fail("a word is missing");
    return w;
}

static uint64_t time_word(void)
{
    return (uint64_t)(strtod(word(), NULL) * (double)NS_PER_MS);
}

/* Takes the values in the rest of the line. */
static void take_values(int kind, uint64_t *value, uint8_t *absent)
{
    for (char *w = strtok(NULL, " \n"); w; w = strtok(NULL, " \n")) {
        char *number = strchr(w, '=');
        if (number)
            *number++ = '\0';
        int metric = number ? baro_metric_find(kind, w) : -1;
        if (metric < 0)
            fail(w);
        value[metric] = (uint64_t)strtod(number, NULL);
        absent[metric] = BARO_PRESENT;
    }
}

/* Returns the process with this pid; if there is none, a new one or NULL. */
static struct baro_process *process_of(int32_t pid, bool is_new)
{
    for (size_t i = 0; i < sample.n; i++)
        if (rows[i]->key.pid == pid)
            return rows[i];
    if (!is_new)
        return NULL;
    if (last_id == MOST)
        fail("too many processes");
    struct baro_process *p = rows[sample.n++] = &all[last_id++];
    *p = (struct baro_process){.id = last_id, .key = {pid, 1000 + (uint64_t)pid}, .origin = BARO_ORIGIN_EVENT};
    memset(p->absent, BARO_ABSENT_NOT_ASKED, sizeof(p->absent));
    return p;
}

static void add_process(void)
{
    struct baro_process *p = process_of((int32_t)atoi(word()), true);
    free(p->name);
    p->name = strdup(word());
    p->info_version++;
    take_values(BARO_KIND_PROCESS, p->value, p->absent);
}

static void add_sample(void)
{
    sample.t_ns = time_word();
    for (size_t i = 0; i < sample.n; i++)
        rows[i]->read_ns = sample.t_ns;
    sample.job[JOB_processes] = sample.n;
    take_values(BARO_KIND_JOB, sample.job, sample.job_absent);
    if (tape_writer_commit(writer, &sample, NULL) < 0)
        fail("it can't be written");
}

static void add_exit(void)
{
    uint64_t t_ns = time_word();
    int32_t pid = (int32_t)atoi(word());
    struct baro_process *p = process_of(pid, false);
    struct baro_exit e = {.t_ns = t_ns,
                          .id = p ? p->id : ++last_id,
                          .key = {pid, 1000 + (uint64_t)pid},
                          .origin = BARO_ORIGIN_EVENT,
                          .source = BARO_EXIT_TASKSTATS,
                          .sampled = p != NULL,
                          .status_known = true,
                          .name = word()};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    take_values(BARO_KIND_EXIT, e.value, e.absent);
    tape_writer_exit(writer, &e);
    for (size_t i = 0; p && i < sample.n; i++)
        if (rows[i] == p)
            rows[i] = rows[--sample.n];
}

static void add_event(enum baro_event_kind kind, bool has_text)
{
    uint64_t t_ns = time_word();
    tape_writer_event(writer, &(struct baro_event){.t_ns = t_ns, .kind = kind, .text = has_text ? word() : ""});
}

static void add_line(char *text)
{
    const char *what = strtok(text, " \n");
    if (!what)
        return;
    if (strcmp(what, "process") == 0)
        add_process();
    else if (strcmp(what, "sample") == 0)
        add_sample();
    else if (strcmp(what, "exit") == 0)
        add_exit();
    else if (strcmp(what, "begin") == 0)
        add_event(BARO_EVENT_PHASE_BEGIN, true);
    else if (strcmp(what, "end") == 0)
        add_event(BARO_EVENT_PHASE_END, true);
    else if (strcmp(what, "ended") == 0)
        add_event(BARO_EVENT_END, false);
    else
        fail(what);
}

int main(int argc, char **argv)
{
    static char *command[] = {"job", NULL};
    struct baro_header header = {.mode = BARO_MODE_RUN,
                                 .version = "0.1.0",
                                 .host = "h",
                                 .clk_tck = 100,
                                 .cpus = 2,
                                 .page_size = 4096,
                                 .memory_total = 16ull << 30,
                                 .wanted = UINT64_MAX,
                                 .argv = command,
                                 .event_source = "connector",
                                 .exit_source = "taskstats"};
    char line[1024];
    int fd = argc == 2 ? tape_create(argv[1], NULL) : -1;
    if (fd < 0 || tape_writer_new(&writer, fd, &header, NULL, NULL) < 0)
        fail("no FILE that can be made");
    sample.processes = rows;
    memset(sample.job_absent, BARO_ABSENT_UNKNOWN, sizeof(sample.job_absent));
    sample.job_absent[JOB_processes] = BARO_PRESENT;
    while (fgets(line, sizeof(line), stdin))
        add_line(line);
    if (tape_writer_finish(writer, NULL) < 0)
        fail("it can't be written");
    tape_writer_free(writer);
    for (size_t i = 0; i < MOST; i++)
        free(all[i].name);
    return 0;
}
