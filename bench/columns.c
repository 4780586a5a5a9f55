/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows of a tape cost as Arrow, in CPU time of this process, beside the same rows as CSV.
 *
 *   columns TAPE BARO [TIMES]      BARO: the program, for the CSV; default: 5 times each, the least counts
 *
 * twenty: rows of processes with twenty columns, as Arrow and as `baro export` (which writes to /dev/null)
 * two:    the same with two columns
 * all:    the same with all columns
 * sample: nineteen columns of each sample by baro_sample_columns(), beside calls for each process
 * job:    the curve of the job, beside reading all rows of all processes: what a projection does not decode
 * event:  marks and events, beside the same
 * sums:   a curve that needs the processes: nothing is saved
 *
 * Tapes to try it with are made by tape_density: `tape_density 200 20 5000 FILE` has 1,000,000 process-samples,
 * `tape_density 10000 20 600 FILE` a job of 10,000 processes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "baro/baro.h"

#define TWENTY                                                                                                         \
    "t_ns,pid,start_ticks,ppid,uid,name,cpu_user,cpu_system,rss,rss_anon,rss_file,virtual,threads,fds,io_rchar,"       \
    "io_wchar,io_read,io_write,faults_minor,state"

static double cpu_ms(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void fail(const char *text)
{
    fprintf(stderr, "columns: %s\n", text);
    exit(1);
}

/* Reads all rows and gives them back. Returns CPU time in ms. */
static double arrow(const char *path, int rows, const char *list, uint64_t *ret_rows)
{
    struct baro_tape *tape;
    struct baro_error err;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    double from = cpu_ms(RUSAGE_SELF);
    *ret_rows = 0;
    if (baro_tape_open(&tape, path, &err) < 0 || baro_tape_arrow(tape, rows, list, NULL, &stream, &err) < 0)
        fail(err.text);
    baro_tape_close(tape);
    for (;;) {
        if (stream.get_next(&stream, &array) != 0)
            fail(stream.get_last_error(&stream));
        if (!array.release)
            break;
        *ret_rows += (uint64_t)array.length;
        array.release(&array);
    }
    stream.release(&stream);
    return cpu_ms(RUSAGE_SELF) - from;
}

static double csv(const char *baro, const char *path, const char *list)
{
    double from = cpu_ms(RUSAGE_CHILDREN);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execl(baro, baro, "export", path, list ? "--columns" : (char *)NULL, list, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        fail("baro export failed");
    return cpu_ms(RUSAGE_CHILDREN) - from;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void beside_csv(const char *name, const char *path, const char *baro, const char *list, int times)
{
    double as_arrow = 1e9, as_csv = 1e9;
    uint64_t rows = 0;
    for (int i = 0; i < times; i++) {
        as_arrow = least(as_arrow, arrow(path, BARO_KIND_PROCESS, list, &rows));
        as_csv = least(as_csv, csv(baro, path, list));
    }
    printf("%-7s %8.1f ms as Arrow, %8.1f ms as CSV: a ratio of %.2f (%llu rows)\n", name, as_arrow, as_csv,
           as_arrow / as_csv, (unsigned long long)rows);
}

static void beside_all(const char *name, const char *path, int rows, const char *list, int times)
{
    double part = 1e9, all = 1e9;
    uint64_t n = 0, of_all = 0;
    for (int i = 0; i < times; i++) {
        part = least(part, arrow(path, rows, list, &n));
        all = least(all, arrow(path, BARO_KIND_PROCESS, NULL, &of_all));
    }
    printf("%-7s %8.1f ms, all processes %8.1f ms: a ratio of %.3f (%llu of %llu rows)\n", name, part, all, part / all,
           (unsigned long long)n, (unsigned long long)of_all);
}

/* ---- a sample at a time ---- */

enum { METRICS = 15, IDENTITIES = 4, COLUMNS = METRICS + IDENTITIES, ROWS = 256 };

struct reading {
    int column[COLUMNS]; /* the last METRICS of them are metrics */
    uint64_t value[COLUMNS][ROWS], *values[COLUMNS];
    uint8_t absent[COLUMNS][ROWS], *reasons[COLUMNS];
    uint64_t sum;
};

static void by_columns(struct reading *r, const struct baro_sample *s)
{
    for (size_t i = 0, n;
         (n = baro_sample_columns(s, BARO_KIND_PROCESS, r->column, COLUMNS, i, ROWS, r->values, r->reasons)) > 0;
         i += n)
        r->sum += r->value[COLUMNS - 1][n - 1];
}

static void by_rows(struct reading *r, const struct baro_sample *s)
{
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        r->value[0][0] = (uint64_t)baro_row_pid(p);
        r->value[1][0] = baro_row_start_ticks(p);
        r->value[2][0] = (uint64_t)baro_row_ppid(p);
        r->value[3][0] = baro_row_uid(p);
        baro_row_values(p, r->column + IDENTITIES, METRICS, r->value[4], r->absent[4]);
        r->sum += r->value[4][METRICS - 1] + r->value[0][0] + r->value[1][0] + r->value[2][0] + r->value[3][0];
    }
}

static double samples(const char *path, void (*read)(struct reading *r, const struct baro_sample *s))
{
    static struct reading r = {.column = {BARO_COLUMN_ID_OF(BARO_COLUMN_PID), BARO_COLUMN_ID_OF(BARO_COLUMN_START),
                                          BARO_COLUMN_ID_OF(BARO_COLUMN_PPID), BARO_COLUMN_ID_OF(BARO_COLUMN_UID)}};
    struct baro_tape *tape;
    struct baro_record record;
    struct baro_error err;
    for (int i = 0; i < COLUMNS; i++) {
        r.column[i] = i < IDENTITIES ? r.column[i] : i - IDENTITIES;
        r.values[i] = r.value[i];
        r.reasons[i] = r.absent[i];
    }
    double from = cpu_ms(RUSAGE_SELF);
    if (baro_tape_open(&tape, path, &err) < 0)
        fail(err.text);
    while (baro_tape_next(tape, &record, &err) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE)
            read(&r, record.u.sample);
    }
    baro_tape_close(tape);
    return cpu_ms(RUSAGE_SELF) - from;
}

static void sample_columns(const char *path, int times)
{
    double columns = 1e9, rows = 1e9;
    for (int i = 0; i < times; i++) {
        columns = least(columns, samples(path, by_columns));
        rows = least(rows, samples(path, by_rows));
    }
    printf("%-7s %8.1f ms a column at a time, %8.1f ms a process at a time, both with reading the tape\n", "sample",
           columns, rows);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int times = argc > 3 ? atoi(argv[3]) : 5;
    beside_csv("twenty", argv[1], argv[2], TWENTY, times);
    beside_csv("two", argv[1], argv[2], "pid,cpu", times);
    beside_csv("all", argv[1], argv[2], NULL, times);
    sample_columns(argv[1], times);
    beside_all("job", argv[1], BARO_KIND_JOB, "t_ns,cpu,io_read,io_write,processes", times);
    beside_all("event", argv[1], BARO_ROWS_EVENT, NULL, times);
    beside_all("sums", argv[1], BARO_KIND_JOB, "t_ns,rss", times);
    return 0;
}
