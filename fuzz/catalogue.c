/* SPDX-License-Identifier: Apache-2.0 */
#include "catalogue.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "touch.h"

enum { RUNS = 4, RECORDS = 16 };

static char folder[PATH_MAX];

static void path_of(unsigned i, char ret[PATH_MAX + 32])
{
    snprintf(ret, PATH_MAX + 32, "%s/20261121T04345%u.000-1.baro", folder, i);
}

static void remove_folder(void)
{
    char path[PATH_MAX + 32];
    for (unsigned i = 0; i < RUNS; i++) {
        path_of(i, path);
        unlink(path);
    }
    rmdir(folder);
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/fuzz-api-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder) || setenv("BARO_DIR", folder, 1) < 0)
        abort();
    atexit(remove_folder);
}

static void write_run(unsigned i, const uint8_t *bytes, size_t size)
{
    char path[PATH_MAX + 32];
    path_of(i, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (size && write(fd, bytes, size) != (ssize_t)size))
        abort();
    close(fd);
}

static uint64_t read_run(struct baro_tape *tape, unsigned n)
{
    struct baro_tape_end end = {.size = n % 5 ? sizeof(end) : n};
    struct baro_record record;
    uint64_t sum = touch_front(tape);
    if (n & 1)
        sum += (uint64_t)baro_tape_read_end(tape, &end, NULL) + end.last_ns + end.end_ns + (uint64_t)end.status;
    for (int i = 0; i < RECORDS && baro_tape_next(tape, &record, NULL) > 0; i++)
        sum += touch_record(tape, &record);
    return sum;
}

static uint64_t resolve(unsigned n)
{
    static const char *const names[] = {
        NULL, "@last", "@1", "@4", "@5", "@0", "@", "@-1", "@1x", "@18446744073709551617", "x.baro", ""};
    char path[PATH_MAX + 32];
    size_t size = n % 7 ? sizeof(path) : n % 64;
    int code = baro_runs_resolve(names[n % (sizeof(names) / sizeof(*names))], path, size, NULL);
    return code == 0 ? strlen(path) : (uint64_t)-code;
}

/* Uses pointers that a list owns, also for indices that it does not have. */
static uint64_t touch_list(const struct baro_runs *runs)
{
    uint64_t sum = strlen(baro_runs_folder(runs)) + strlen(baro_runs_note(runs));
    size_t count = baro_runs_count(runs);
    for (size_t i = 0; i < count; i++) {
        const char *name = baro_runs_name(runs, i), *path = baro_runs_path(runs, i);
        if (strlen(path) < strlen(name) || strcmp(path + strlen(path) - strlen(name), name) != 0)
            abort();
        sum += baro_runs_bytes(runs, i);
    }
    if (baro_runs_name(runs, count) || baro_runs_path(runs, count) || baro_runs_bytes(runs, SIZE_MAX))
        abort();
    return sum;
}

uint64_t catalogue_calls(const uint8_t *bytes, size_t size, unsigned n)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_runs *runs = NULL;
    struct baro_tape *tape = NULL;
    char path[PATH_MAX + 32];
    if (!*folder)
        make_folder();
    write_run(0, bytes, size);
    write_run(1, bytes, size / 2);
    write_run(2, bytes + n % (size + 1), size - n % (size + 1));
    write_run(3, NULL, 0);
    uint64_t sum = resolve(n);
    path_of(n / 3 % RUNS, path);
    if (n & 2) /* before the list is made, or between that and its use */
        sum += (uint64_t)baro_runs_remove(path, n & 4 ? BARO_REMOVE_RUNNING : 0, &err);
    if (baro_runs_list(&runs, n & 8 ? BARO_RUNS_EMPTY : 0, &err) < 0)
        abort(); /* the folder exists, and belongs to us */
    if (n & 16)
        sum += (uint64_t)baro_runs_remove(path, 0, &err);
    sum += touch_list(runs);
    if (baro_runs_open(runs, n / 32 % (RUNS + 1), n & 64 ? 1000000 : 0, &tape, &err) < 0)
        tape = NULL;
    if (n & 128) { /* a cursor may outlive the list */
        baro_runs_free(runs);
        runs = NULL;
    }
    if (tape)
        sum += read_run(tape, n / 256);
    baro_tape_close(tape);
    baro_runs_free(runs);
    return sum + strlen(err.text);
}
