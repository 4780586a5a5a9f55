/* SPDX-License-Identifier: Apache-2.0 */
/* The tape's header. It is filled before the command starts, so nothing expensive is read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "baro/version.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/min_max.h"
#include "kernel/proc/procfs.h"
#include "kernel/sys/sysfs.h"
#include "libbaro/tape/header_fields.h"
#include "recorder/collectors/cgroups/names.h"
#include "recorder/collectors/cgroups/slurm_job.h"
#include "recorder/loop/launcher.h"
#include "recorder/loop/recorder.h"
#include "recorder/redact/redact.h"
#include "recorder/select/select.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* How many bytes of the command are examined and recorded. Redaction takes 75 ns for each, in odd text up to 300: with
 * 960 kB it would take many times what the budget of 1 % allows for the start. */
#define ARGV_MOST 65536u

static void copy_text(char *to, size_t cap, const char *from)
{
    size_t n = from ? strnlen(from, cap - 1) : 0;
    memcpy(to, from ? from : "", n);
    to[n] = 0;
}

#if defined(__x86_64__) || defined(__i386__)
/* CPUID returns the processor's name in three parts (0x80000002 to 4). Opening /proc/cpuinfo can take 20 ms, because
 * before 5.18 the kernel measures the frequency of all CPUs for it. */
static void fill_cpu(struct baro_header *h)
{
    unsigned part[12];
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u) /* int in clang's header */
        return;
    for (unsigned i = 0; i < 3; i++)
        __cpuid(0x80000002u + i, part[4 * i], part[4 * i + 1], part[4 * i + 2], part[4 * i + 3]);
    char name[sizeof(part) + 1];
    memcpy(name, part, sizeof(part));
    name[sizeof(part)] = 0;
    size_t from = strspn(name, " "), n = strlen(name);
    while (n > from && name[n - 1] == ' ')
        name[--n] = 0;
    snprintf(h->cpu_model, sizeof(h->cpu_model), "%s", name + from);
}
#else
/* The name of the first CPU is in the first page; ARM CPUs have numbers instead of a name. */
static void fill_cpu(struct baro_header *h)
{
    struct proc_cpuinfo info;
    char text[4096];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/cpuinfo", text, sizeof(text));
    if (n <= 0 || proc_cpuinfo_parse(span_of(text, (size_t)n), &info, NULL, NULL) < 0)
        return;
    if (info.model.len)
        snprintf(h->cpu_model, sizeof(h->cpu_model), "%.*s", (int)info.model.len, info.model.at);
    else if (info.part.len)
        snprintf(h->cpu_model, sizeof(h->cpu_model), "implementer %.*s part %.*s", (int)info.implementer.len,
                 info.implementer.at, (int)info.part.len, info.part.at);
}
#endif

/* Returns 0 if the count is not known. */
static uint32_t count_of(const char *path)
{
    char list[1024];
    ssize_t n = sys_text(AT_FDCWD, path, list, sizeof(list));
    int64_t count = n > 0 ? sys_list_parse(span_of(list, (size_t)n), NULL, NULL) : 0;
    return count > 0 && count <= UINT32_MAX ? (uint32_t)count : 0;
}

/* sysconf() is used only if /sys is hidden: some C libraries count the CPUs that this process may run on. */
static void fill_counts(struct baro_header *h)
{
    h->cpus = count_of("/sys/devices/system/cpu/online");
    if (!h->cpus)
        h->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    h->numa_nodes = count_of("/sys/devices/system/node/online");
}

static void fill_machine(struct baro_header *h)
{
    struct utsname u;
    struct sysinfo info;
    char boot_id[64];
    copy_text(h->version, sizeof(h->version), baro_version());
    if (uname(&u) == 0) {
        redact_name_to(u.nodename, h->host, sizeof(h->host));
        copy_text(h->kernel, sizeof(h->kernel), u.release);
        copy_text(h->machine, sizeof(h->machine), u.machine);
    }
    if (sysinfo(&info) == 0)
        h->memory_total = (uint64_t)info.totalram * info.mem_unit;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id) - 1);
    if (n > 0) {
        boot_id[n] = 0;
        boot_id[strcspn(boot_id, "\n")] = 0;
        copy_text(h->boot_id, sizeof(h->boot_id), boot_id);
    }
    h->clk_tck = (uint32_t)sysconf(_SC_CLK_TCK);
    h->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    h->uid = getuid();
    fill_cpu(h);
    fill_counts(h);
}

/* Identity of the recorder: with it a reader can tell whether the recorder is alive. */
static void fill_recorder(struct baro_header *h)
{
    char text[1024];
    struct pid_stat st;
    struct stat ns;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
    if (n <= 0 || pid_stat_parse(span_of(text, (size_t)n), &st) < 0)
        return;
    h->recorder = (struct baro_key){getpid(), st.starttime};
    h->pid_namespace = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

/* is_beside: what is recorded was found, by its group or its command: the job of this process is not its. */
static void fill_place(struct baro_header *h, bool is_beside)
{
    struct launched l = launcher_read(getenv);
    redact_name_to(l.node, h->node, sizeof(h->node));
    if (is_beside)
        return;
    redact_name_to(l.job, h->job_id, sizeof(h->job_id));
    redact_name_to(l.step, h->step_id, sizeof(h->step_id));
    redact_name_to(l.rank, h->rank, sizeof(h->rank));
    redact_name_to(l.local_rank, h->local_rank, sizeof(h->local_rank));
    h->ranks = l.ranks;
    h->local_ranks = l.local_ranks;
    h->attempt = l.attempt;
}

static char *redacted(struct span program, struct span before, struct span argument, size_t most)
{
    struct buf b = {0};
    redact_argument_part(program, before, argument, most, &b);
    buf_byte(&b, 0);
    char *text = b.failed ? NULL : strdup((const char *)b.at);
    buf_done(&b);
    return text;
}

static char *redacted_name(const char *name)
{
    struct buf b = {0};
    redact_name(span_str(name), &b);
    buf_byte(&b, 0);
    char *text = b.failed ? NULL : strdup((const char *)b.at);
    buf_done(&b);
    return text;
}

/* Adds a tag, unless the user gave one with this key. */
static int add_tag(struct baro_header *h, const char *tag)
{
    size_t n = 0, key = strcspn(tag, "=") + 1;
    for (; h->tags && h->tags[n]; n++) {
        if (strncmp(h->tags[n], tag, key) == 0)
            return 0;
    }
    char **more = realloc(h->tags, (n + 2) * sizeof(*more)), *copy = strdup(tag);
    h->tags = more ? more : h->tags;
    if (!more || !copy) {
        free(copy);
        return -ENOMEM;
    }
    h->tags[n] = copy;
    h->tags[n + 1] = NULL;
    return 0;
}

/* The group is a job of Slurm. */
static int fill_slurm_job(struct baro_header *h, const struct slurm_job *job)
{
    int code = 0;
    copy_text(h->job_id, sizeof(h->job_id), job->id);
    copy_text(h->step_id, sizeof(h->step_id), job->step);
    copy_text(h->name, sizeof(h->name), job->title);
    for (size_t i = 0; i < job->n_tags && code == 0; i++)
        code = add_tag(h, job->tag[i]);
    return code;
}

/* A recording of a control group is named by what people call the group; its command is the path. */
static int fill_names(struct baro_header *h, const struct record_options *o)
{
    struct slurm_job job;
    bool files = o->attach.names == RECORD_NAMES_AUTO;
    int root_fd = o->attach.names == RECORD_NAMES_OFF ? -1 : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return 0;
    group_names_read(root_fd, o->attach.cgroup, files, &h->place);
    group_title(&h->place, h->name, sizeof(h->name));
    int code = slurm_job_read(root_fd, o->attach.cgroup, files, &job) ? fill_slurm_job(h, &job) : 0;
    fd_close(root_fd);
    return code;
}

static int fill_group(struct baro_header *h, const char *path)
{
    h->argv = calloc(2, sizeof(*h->argv));
    if (h->argv)
        h->argv[0] = redacted_name(path);
    return h->argv && h->argv[0] ? 0 : -ENOMEM;
}

/* A recording of tasks is named by its task file, or by the tasks: "gulpy, fmpy". The tasks are its command. */
static int fill_tasks(struct baro_header *h, const struct select_options *o)
{
    struct buf names = {0};
    for (size_t i = 0; i < o->rules->n_tasks; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", o->rules->task[i].name);
    buf_byte(&names, 0);
    if (!names.failed)
        redact_name_to(o->name && *o->name ? o->name : (const char *)names.at, h->name, sizeof(h->name));
    int code = names.failed ? -ENOMEM : fill_group(h, (const char *)names.at);
    buf_done(&names);
    return code;
}

static int fill_argv(struct baro_header *h, char *const *argv, bool cmdline)
{
    size_t n = 0;
    while (argv && argv[n])
        n++;
    if (!cmdline && n > 1)
        n = 1;
    h->argv = calloc(n + 1, sizeof(*h->argv));
    if (!h->argv)
        return -ENOMEM;
    struct span program = {0}, before = {0};
    size_t left = ARGV_MOST;
    for (size_t i = 0; i < n; i++) {
        const char *base = strrchr(argv[i], '/');
        struct span argument = span_str(argv[i]);
        if (i == 0)
            program = span_str(base ? base + 1 : argv[i]);
        h->argv[i] = left ? redacted(program, before, argument, left) : strdup("...");
        if (!h->argv[i])
            return -ENOMEM;
        if (!left)
            break;
        left -= min_u64(left, argument.len + 1);
        if (i)
            program = redact_program(program, argument);
        before = argument;
    }
    return 0;
}

static int fill_tags(struct baro_header *h, const struct record_options *o)
{
    h->tags = o->n_tags ? calloc(o->n_tags + 1, sizeof(*h->tags)) : NULL;
    for (size_t i = 0; h->tags && i < o->n_tags; i++) {
        if (!(h->tags[i] = redacted_name(o->tags[i])))
            return -ENOMEM;
    }
    return o->n_tags && !h->tags ? -ENOMEM : 0;
}

static int fill_command(struct baro_header *h, const struct record_options *o)
{
    if (recorder_selects(o))
        return fill_tasks(h, o->attach.select);
    if (o->attach.pinned)
        return fill_tasks(h, o->attach.pinned);
    if (o->attach.all) {
        memcpy(h->cgroup_mode, "machine", 8);
        snprintf(h->name, sizeof(h->name), "%s", h->host);
        return fill_group(h, "machine");
    }
    if (o->attach.cgroup && fill_names(h, o) < 0)
        return -ENOMEM;
    return o->attach.cgroup ? fill_group(h, o->attach.cgroup) : fill_argv(h, o->run.argv, o->scope.cmdline);
}

int header_fill(struct baro_header *h, const struct record_options *o, uint64_t now_monotonic_ns)
{
    bool is_beside = o->attach.cgroup || o->attach.select || o->attach.pinned || o->attach.all;
    bool attached = is_beside || o->attach.n_targets || o->attach.host_alone;
    *h = (struct baro_header){.mode = attached ? BARO_MODE_ATTACH : BARO_MODE_RUN,
                              .interval_ns = o->pace.interval_ns,
                              .keep_ns = o->segments.keep_ns,
                              .keep_bytes = o->segments.keep_bytes,
                              .segment = o->segments.next ? 1 : 0,
                              .overhead_ppm = o->pace.overhead_ppm,
                              .wanted = o->scope.wanted};
    uint64_t passed = clock_monotonic_ns() - now_monotonic_ns;
    h->start_monotonic_ns = now_monotonic_ns;
    h->start_boottime_ns = clock_boottime_ns() - passed;
    h->start_realtime_ns = clock_realtime_ns() - (int64_t)passed;
    head_new_id(h);
    if (o->attach.before) {
        copy_text(h->id, sizeof(h->id), o->attach.before->id);
        h->segment = o->attach.before->segment;
    }
    fill_machine(h);
    fill_recorder(h);
    fill_place(h, is_beside);
    if (h->mode == BARO_MODE_RUN)
        memcpy(h->cgroup_mode, "none", 5);
    h->cwd = redacted_name(o->run.cwd ? o->run.cwd : "");
    if (o->attach.n_targets) {
        h->targets = calloc(o->attach.n_targets, sizeof(*h->targets));
        if (h->targets)
            memcpy(h->targets, o->attach.targets, o->attach.n_targets * sizeof(*h->targets));
        h->n_targets = h->targets ? o->attach.n_targets : 0;
    }
    if (o->task_rules && !(h->task_rules = strdup(o->task_rules)))
        return -ENOMEM;
    int code = fill_tags(h, o);
    if (code == 0)
        code = fill_command(h, o);
    if (o->name)
        redact_name_to(o->name, h->name, sizeof(h->name));
    return code;
}
