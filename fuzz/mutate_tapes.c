/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate_tapes [-n COUNT] [-f FIRST] [-s SEED] [-k COMMANDS] [-o FOLDER] TAPE...: makes mutants of tapes (mutate.h)
 * and gives each of them to every reader. mutate_tapes -r FILE...: gives these files to every reader.
 *
 * Each tape is a seed as it is and as today's writer writes it. A mutant is determined by the tapes, SEED and its
 * number. A reader may take CPU_MOST seconds of CPU time and the process MEMORY_MOST MiB. Mutants are read in child
 * processes, many in each; where one dies, the mutant is kept in FOLDER, and another child goes on behind it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baro/tape.h"
#include "mutate.h"
#include "libbaro/sample/row.h"
#include "libbaro/writer/writer.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#ifdef WITH_ASAN
enum { MEMORY_MOST = 1024 };           /* with the memory that ASan needs */
__attribute__((visibility("default"))) /* ASan looks for it */
const char *
__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:max_allocation_size_mb=512";
}
#else
enum { MEMORY_MOST = 256 };
#endif
enum { CPU_MOST = 5, WALL_MOST = 600, SEEDS_MOST = 64, BATCH = 250, COMMANDS_FROM = 5 };

/* Written by the child, so that the parent knows where it died. */
struct progress {
    size_t mutant, reader;
    bool finished, memory;
    int status;
    size_t opened, samples; /* of all batches: how many mutants are accepted as a tape, and as one with a sample */
};

struct work {
    struct buf seeds[SEEDS_MOST];
    size_t n_seeds;
    bool as_they_are; /* the mutants are the seeds */
    uint64_t seed;
    size_t commands; /* how many of them each mutant is given to, in turn; 0: all */
    const char *keep;
    char folder[64], path[128], log[128];
    struct progress *progress;
    size_t failures;
};

/* ---- seeds ---- */
static bool read_file(int fd, struct buf *ret)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !buf_reserve(ret, (size_t)st.st_size + 1))
        return false;
    ssize_t n = pread(fd, ret->at, (size_t)st.st_size, 0);
    ret->len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static void write_again(struct tape_writer *w, struct baro_tape *t)
{
    struct baro_record r;
    while (baro_tape_next(t, &r, NULL) == 1) {
        if (r.kind == BARO_RECORD_SAMPLE)
            tape_writer_commit(w, r.u.sample, NULL);
        if (r.kind == BARO_RECORD_EXIT)
            tape_writer_exit(w, row_exit(r.u.exit));
        if (r.kind == BARO_RECORD_EVENT)
            tape_writer_event(w, r.u.event);
        if (r.kind == BARO_RECORD_LIMITS)
            tape_writer_limits(w, r.u.limits, r.t_ns);
    }
    tape_writer_finish(w, NULL);
}

/* The nonce is random, which a seed must not be. */
static void fix_nonce(struct buf *tape)
{
    struct parts p;
    if (parts_parse(&p, span_of(tape->at, tape->len))) {
        tape_preamble(p.preamble, (const uint8_t *)"notrandm");
        buf_clear(tape);
        parts_write(&p, tape);
    }
    parts_done(&p);
}

/* As the current writer writes it. */
static bool rewrite(const struct buf *tape, struct buf *ret)
{
    struct baro_tape *t;
    struct tape_writer *w;
    int fd = memfd_create("tape", MFD_CLOEXEC);
    if (fd < 0 || baro_tape_open_memory(&t, tape->at, tape->len, NULL) < 0)
        return false;
    bool good = tape_writer_new(&w, dup(fd), baro_tape_header(t), NULL, NULL) == 0;
    if (good) {
        write_again(w, t);
        tape_writer_free(w);
        good = read_file(fd, ret);
        fix_nonce(ret);
    }
    baro_tape_close(t);
    close(fd);
    return good;
}

static bool take_seed(struct work *w, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (w->n_seeds + 2 > SEEDS_MOST || !read_file(fd, &w->seeds[w->n_seeds])) {
        fprintf(stderr, "%s: can't be read\n", path);
        return false;
    }
    close(fd);
    if (!w->as_they_are && !rewrite(&w->seeds[w->n_seeds], &w->seeds[w->n_seeds + 1])) {
        fprintf(stderr, "%s: is no good tape\n", path);
        return false;
    }
    w->n_seeds += w->as_they_are ? 1 : 2;
    return true;
}

/* ---- one mutant ---- */
static void make(const struct work *w, size_t i, struct buf *ret)
{
    struct rng r = {.state = w->seed * 0x100000001b3u + i};
    const struct buf *seed = &w->seeds[i % w->n_seeds], *other = &w->seeds[rng_below(&r, w->n_seeds)];
    if (w->as_they_are) {
        buf_clear(ret);
        buf_add(ret, seed->at, seed->len);
        return;
    }
    rng_next(&r);
    mutate(span_of(seed->at, seed->len), span_of(other->at, other->len), &r, ret);
}

static bool write_file(const char *path, const struct buf *b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && (b->len == 0 || write(fd, b->at, b->len) == (ssize_t)b->len);
    if (fd >= 0)
        close(fd);
    return good;
}

static void limit_time(void)
{
    const struct itimerval cpu = {.it_value = {.tv_sec = CPU_MOST}};
    setitimer(ITIMER_PROF, &cpu, NULL); /* SIGPROF ends the process */
    alarm(WALL_MOST);
}

static bool too_large(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 && use.ru_maxrss / 1024 > MEMORY_MOST;
}

static bool wanted(const struct work *w, size_t mutant, size_t reader)
{
    size_t all = readers_count() - COMMANDS_FROM;
    if (reader < COMMANDS_FROM || !w->commands || w->commands >= all)
        return true;
    return (reader - COMMANDS_FROM + all - mutant * w->commands % all) % all < w->commands;
}

static void read_mutant(const struct work *w, size_t i)
{
    struct progress *p = w->progress;
    p->mutant = i;
    for (p->reader = 0; p->reader < readers_count(); p->reader++) {
        if (!wanted(w, i, p->reader))
            continue;
        if (ftruncate(STDERR_FILENO, 0) < 0)
            _exit(4);
        limit_time();
        p->status = reader_run(p->reader, w->path);
        p->memory = too_large();
        if (p->status || p->memory)
            _exit(3);
    }
}

static void count_good(const struct work *w, const struct buf *mutant)
{
    struct baro_tape *t;
    uint64_t first, last;
    if (baro_tape_open_memory(&t, mutant->at, mutant->len, NULL) < 0)
        return;
    w->progress->opened++;
    w->progress->samples += baro_tape_range(t, &first, &last, NULL) == 1;
    baro_tape_close(t);
}

/* ---- many ---- */
static void child(const struct work *w, size_t from, size_t to)
{
    struct buf mutant = {0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC),
        log = open(w->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(log, 2) < 0)
        _exit(4);
    for (size_t i = from; i < to; i++) {
        w->progress->mutant = i;
        w->progress->reader = readers_count();
        limit_time();
        make(w, i, &mutant);
        if (mutant.failed || !write_file(w->path, &mutant))
            _exit(4);
        read_mutant(w, i);
        count_good(w, &mutant);
    }
    buf_done(&mutant);
    w->progress->finished = true;
}

static void say_why(const struct progress *p, int status)
{
    if (p->memory)
        fprintf(stderr, "takes more than %d MiB\n", MEMORY_MOST);
    else if (p->status)
        fprintf(stderr, "exit status %d\n", p->status);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        fprintf(stderr, "takes more than %d s of CPU time\n", CPU_MOST);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "%s\n", strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "ended with status %d\n", WEXITSTATUS(status));
}

static void tell(struct work *w, int status)
{
    const struct progress *p = w->progress;
    struct buf mutant = {0}, log = {0};
    char kept[4096];
    snprintf(kept, sizeof(kept), "%s/mutant-%llu-%zu.baro", w->keep, (unsigned long long)w->seed, p->mutant);
    fprintf(stderr, "mutant %zu, %s: ", p->mutant,
            p->reader < readers_count() ? reader_name(p->reader)
            : p->finished               ? "leaks"
                                        : "before or behind the readers");
    say_why(p, status);
    int fd = open(w->log, O_RDONLY | O_CLOEXEC);
    if (read_file(fd, &log))
        fprintf(stderr, "%.*s", (int)(log.len < 6000 ? log.len : 6000), (const char *)log.at);
    if (fd >= 0)
        close(fd);
    make(w, p->mutant, &mutant);
    if (!w->as_they_are && write_file(kept, &mutant))
        fprintf(stderr, "repeat with: %s -r %s\n", program_invocation_name, kept);
    buf_done(&mutant);
    buf_done(&log);
    w->failures++;
}

/* Returns the number of the mutant at which to continue. */
static size_t batch(struct work *w, size_t from, size_t to)
{
    int status = 0;
    *w->progress = (struct progress){.mutant = from, .opened = w->progress->opened, .samples = w->progress->samples};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        child(w, from, to);
        exit(0); /* leaks are checked at exit */
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return to;
    if (status == 0 && w->progress->finished)
        return to;
    if (w->progress->finished && to - from > 1) { /* a leak: which mutant has it? */
        for (size_t i = from; i < to; i++)
            batch(w, i, i + 1);
        return to;
    }
    tell(w, status);
    return w->progress->mutant + 1;
}

static bool prepare(struct work *w)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(w->folder, sizeof(w->folder), "%.40s/baro-mutants-XXXXXX", tmp && *tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    w->progress = mmap(NULL, sizeof(*w->progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->progress == MAP_FAILED || !mkdtemp(w->folder))
        return false;
    snprintf(w->path, sizeof(w->path), "%s/20260101T000000.000000Z-mutant-1.baro", w->folder);
    snprintf(w->log, sizeof(w->log), "%s/log", w->folder);
    setenv("BARO_DIR", w->folder, 1);
    setenv("TZ", "UTC", 1);
    return true;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: mutate_tapes [-n COUNT] [-f FIRST] [-s SEED] [-k COMMANDS] [-o FOLDER] TAPE... | -r FILE...\n");
    return 2;
}

static void run(struct work *w, size_t first, size_t count)
{
    for (size_t i = first, reported = first; i < first + count && w->failures < 20;) {
        i = batch(w, i, i + BATCH < first + count ? i + BATCH : first + count);
        if (i - reported >= 5000) {
            printf("%zu of %zu\n", i - first, count);
            fflush(stdout);
            reported = i;
        }
    }
}

int main(int argc, char **argv)
{
    static struct work w;
    size_t count = 300, first = 0;
    int option;
    w.keep = ".";
    w.seed = 1;
    while ((option = getopt(argc, argv, "n:f:s:k:o:r")) != -1) {
        switch (option) {
        case 'n': count = strtoull(optarg, NULL, 10); break;
        case 'f': first = strtoull(optarg, NULL, 10); break;
        case 's': w.seed = strtoull(optarg, NULL, 10); break;
        case 'k': w.commands = strtoull(optarg, NULL, 10); break;
        case 'o': w.keep = optarg; break;
        case 'r': w.as_they_are = true; break;
        default: return usage();
        }
    }
    for (int i = optind; i < argc; i++) {
        if (!take_seed(&w, argv[i]))
            return 2;
    }
    if (!w.n_seeds || !prepare(&w))
        return usage();
    count = w.as_they_are ? w.n_seeds : count;
    run(&w, first, count);
    unlink(w.path);
    unlink(w.log);
    rmdir(w.folder);
    for (size_t i = 0; i < w.n_seeds; i++)
        buf_done(&w.seeds[i]);
    printf("%zu mutants of %zu tapes through %zu readers: %zu opened, %zu with samples; %zu failed\n", count, w.n_seeds,
           readers_count(), w.progress->opened, w.progress->samples, w.failures);
    return w.failures ? 1 : 0;
}
