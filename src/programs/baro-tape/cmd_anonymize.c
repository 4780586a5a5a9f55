/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/fd.h"
#include "programs/baro-tape/copying.h"
#include "programs/baro-tape/pseudonym.h"
#include "programs/common/tape_args.h"

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* ---- names that the kernel gives to hardware, which say nothing of a site ---- */

struct stem {
    const char *stem, *rest; /* rest: the bytes that may follow the stem */
};

static bool is_of(const char *text, const struct stem *stems)
{
    for (; stems->stem; stems++) {
        size_t len = strlen(stems->stem);
        if (strncmp(text, stems->stem, len) == 0 && text[len + strspn(text + len, stems->rest)] == 0)
            return true;
    }
    return false;
}

#define DIGITS "0123456789"

/* Is it a name that the kernel or udev chose by hardware? The rest of enx... is the interface's hardware address. */
static bool is_of_hardware(int kind, const char *name)
{
    static const struct stem cpus[] = {{"cpu", DIGITS}, {NULL, NULL}};
    static const struct stem disks[] = {{"sd", "abcdefghijklmnopqrstuvwxyz" DIGITS},
                                        {"vd", "abcdefghijklmnopqrstuvwxyz" DIGITS},
                                        {"xvd", "abcdefghijklmnopqrstuvwxyz" DIGITS},
                                        {"nvme", "npc" DIGITS},
                                        {"mmcblk", "p" DIGITS},
                                        {"loop", DIGITS},
                                        {"zram", DIGITS},
                                        {"md", DIGITS},
                                        {"dm-", DIGITS},
                                        {"sr", DIGITS},
                                        {NULL, NULL}};
    static const struct stem nets[] = {{"lo", ""},
                                       {"eth", DIGITS},
                                       {"ib", DIGITS},
                                       {"eno", "npd" DIGITS},
                                       {"ens", "fnpd" DIGITS},
                                       {"enp", "sfnpd" DIGITS},
                                       {NULL, NULL}};
    static const struct stem meters[] = {{"package-", "/coreudamn" DIGITS}, {"psys", ""}, {NULL, NULL}};
    static const struct stem gpus[] = {{"", DIGITS}, {NULL, NULL}};
    static const struct {
        const char *kind;
        const struct stem *stems;
    } all[] = {{"cpu", cpus}, {"disk", disks}, {"net", nets}, {"energy", meters}, {"gpu", gpus}};
    const char *kind_name = baro_kind_name(kind);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (strcmp(kind_name, all[i].kind) == 0)
            return is_of(name, all[i].stems);
    return false;
}

/* ---- texts that have a form ---- */

/* "6.1.0-13-amd64" becomes "6.1.0". */
static const char *kernel_of(struct pseudonyms *p, const char *release)
{
    buf_clear(&p->text);
    buf_add(&p->text, release, strspn(release, "." DIGITS));
    buf_byte(&p->text, 0);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

static const char *boot_id_of(struct pseudonyms *p, const char *id)
{
    char text[40];
    size_t len = strlen(id);
    uint64_t high = pseudonym_hash(p->key, id, len);
    const uint64_t other[2] = {p->key[1], p->key[0]};
    uint64_t low = pseudonym_hash(other, id, len);
    snprintf(text, sizeof(text), "%08llx-%04llx-%04llx-%04llx-%012llx", (unsigned long long)(high >> 32),
             (unsigned long long)(high >> 16 & 0xffff), (unsigned long long)(high & 0xffff),
             (unsigned long long)(low >> 48), (unsigned long long)(low & 0xffffffffffff));
    buf_clear(&p->text);
    buf_str(&p->text, text);
    buf_byte(&p->text, 0);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

/* "cgroup /a memory.max": the path between the first word and that of the file, which is no path. */
static const char *limit_of(struct pseudonyms *p, const char *text)
{
    static const char group[] = "cgroup ";
    const char *file = strrchr(text, ' ');
    if (text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == 0 || strcmp(text, "affinity") == 0)
        return text;
    if (strncmp(text, group, sizeof(group) - 1) != 0)
        return pseudonym_whole(p, "limit", text);
    const char *path = text + sizeof(group) - 1;
    bool has_file = file >= path && file[1 + strspn(file + 1, "abcdefghijklmnopqrstuvwxyz._")] == 0;
    char copy[256];
    snprintf(copy, sizeof(copy), "%.*s", (int)(has_file ? file - path : (ptrdiff_t)strlen(path)), path);
    if (!pseudonym_words(p, "group", "group", copy))
        return NULL;
    struct buf words = p->text;
    p->text = (struct buf){0};
    buf_str(&p->text, group);
    buf_add(&p->text, words.at, words.len - 1);
    buf_str(&p->text, has_file ? file : "");
    buf_byte(&p->text, 0);
    buf_done(&words);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

static const char *json_of(struct pseudonyms *p, const char *text)
{
    buf_clear(&p->text);
    buf_byte(&p->text, '"');
    pseudonym_add(p, "value", text, strlen(text));
    buf_byte(&p->text, '"');
    buf_byte(&p->text, 0);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

/* Texts of the recorder itself stay: readers take their meaning from some of them. */
static const char *event_of(struct pseudonyms *p, int kind, const char *text)
{
    static const char *const own[] = {"attached",
                                      "unknown",
                                      "detached",
                                      "connector",
                                      "perf",
                                      "scan",
                                      "taskstats",
                                      "wait4",
                                      "none",
                                      "netlink",
                                      "the machine slept",
                                      "the wall clock was set",
                                      "no observer was running",
                                      "no recorder was running",
                                      NULL};
    if (is_one_of(text, own))
        return text;
    switch (kind) {
    case BARO_EVENT_EXEC:
    case BARO_EVENT_SURVIVOR:
    case BARO_EVENT_START: return pseudonym_whole(p, "cmd", text);
    case BARO_EVENT_MARK: return pseudonym_words(p, "mark", "mark", text);
    case BARO_EVENT_PHASE_BEGIN:
    case BARO_EVENT_PHASE_END: return pseudonym_words(p, "phase", "phase", text);
    default: return pseudonym_whole(p, "message", text);
    }
}

/* A tag is KEY=VALUE: both get words of their own. */
static const char *tag_of(struct pseudonyms *p, const char *text)
{
    const char *value = strchr(text, '=');
    char key[256];
    snprintf(key, sizeof(key), "%.*s", (int)(value ? value - text : (ptrdiff_t)strlen(text)), text);
    if (!value || !pseudonym_whole(p, "key", key))
        return pseudonym_whole(p, "key", text);
    snprintf(key, sizeof(key), "%s", (const char *)p->text.at);
    if (!*++value)
        value = "-";
    if (!pseudonym_words(p, "value", "value", value))
        return NULL;
    struct buf words = p->text;
    p->text = (struct buf){0};
    buf_printf(&p->text, "%s=%s", key, (const char *)words.at);
    buf_byte(&p->text, 0);
    buf_done(&words);
    return p->text.failed ? NULL : (const char *)p->text.at;
}

/* ---- every text of a tape ---- */

static const char *attribute_name_of(struct pseudonyms *p, int kind, const char *text)
{
    static const char *const own[] = {"id",      "duration_ns", "time_error_ns",  "status",
                                      "program", "cpu_ns",      "rss_peak_bytes", NULL};
    bool is_own = kind >= 0 ? kind < baro_kind_count() : is_one_of(text, own);
    return is_own ? text : pseudonym_whole(p, "key", text);
}

/* What the entities of a kind are called: those whose names are paths have parts. */
static const char *entity_of(struct pseudonyms *p, int kind, const char *text)
{
    const char *name = kind >= 0 && kind < baro_kind_count() ? baro_kind_name(kind) : "entity";
    if (is_of_hardware(kind, text))
        return text;
    if (strcmp(name, "brief") == 0)
        return pseudonym_whole(p, "cmd", text);
    if (strcmp(name, "fs") == 0 || strcmp(name, "directory") == 0)
        return pseudonym_words(p, "path", "path", text);
    name = strcmp(name, "cgroup") == 0 ? "group" : name;
    return pseudonym_words(p, name, name, text);
}

static const char *batch_of(struct pseudonyms *p, const char *name, const char *text)
{
    if ((strcmp(name, "rank") == 0 || strcmp(name, "local_rank") == 0) && text[strspn(text, DIGITS)] == 0)
        return text;
    return pseudonym_whole(p, strcmp(name, "job_id") == 0 ? "job" : strcmp(name, "step_id") == 0 ? "step" : name, text);
}

static const char *argument_of(struct pseudonyms *p, bool *is_later, const char *text)
{
    bool is_first = !*is_later;
    *is_later = true;
    return pseudonym_cmdline(p, text, is_first);
}

struct renaming {
    struct pseudonyms p;
    bool is_later; /* the command of the header was replaced; what comes are its arguments */
};

static const char *other_text(void *context, const struct baro_text *t)
{
    struct renaming *r = context;
    struct pseudonyms *p = &r->p;
    switch (t->what) {
    case BARO_TEXT_CPU_MODEL: return t->text;
    case BARO_TEXT_KERNEL: return kernel_of(p, t->text);
    case BARO_TEXT_BOOT_ID: return boot_id_of(p, t->text);
    case BARO_TEXT_HOST: return pseudonym_whole(p, "host", t->text);
    case BARO_TEXT_RECORDING: return pseudonym_words(p, t->name ? t->name : "run", t->name ? t->name : "run", t->text);
    case BARO_TEXT_BATCH: return batch_of(p, t->name, t->text);
    case BARO_TEXT_ARGUMENT: return argument_of(p, &r->is_later, t->text);
    case BARO_TEXT_DIRECTORY: return pseudonym_words(p, "path", "path", t->text);
    case BARO_TEXT_LIMIT: return limit_of(p, t->text);
    case BARO_TEXT_NAME: return pseudonym_whole(p, "cmd", t->text);
    case BARO_TEXT_CMDLINE: return pseudonym_cmdline(p, t->text, true);
    case BARO_TEXT_ENTITY: return entity_of(p, t->kind, t->text);
    case BARO_TEXT_LABEL:
        if (t->kind == BARO_KIND_BRIEF)
            return pseudonym_whole(p, "cmd", t->text);
        return pseudonym_words(p, "label", "path", t->text);
    case BARO_TEXT_EVENT: return event_of(p, t->kind, t->text);
    case BARO_TEXT_ATTRIBUTE_NAME: return attribute_name_of(p, t->kind, t->text);
    case BARO_TEXT_ATTRIBUTE: return pseudonym_words(p, "value", "value", t->text);
    case BARO_TEXT_JSON: return json_of(p, t->text);
    case BARO_TEXT_KIND: return pseudonym_whole(p, "kind", t->text);
    case BARO_TEXT_METRIC: return pseudonym_whole(p, "metric", t->text);
    case BARO_TEXT_HELP: return "";
    case BARO_TEXT_TAG: return tag_of(p, t->text);
    default: return pseudonym_whole(p, "text", t->text);
    }
}

static uint32_t other_uid(void *context, uint32_t uid)
{
    struct renaming *r = context;
    return pseudonym_uid(&r->p, uid);
}

/* ---- the command ---- */

/* A file with 16 bytes or more; a hash of two halves makes the key. */
static int read_key(const char *path, uint64_t ret[2], struct baro_error *err)
{
    enum { LEAST = 16 };
    static const uint64_t halves[2][2] = {{1, 2}, {3, 4}};
    char bytes[4096];
    ssize_t n = fd_read_file(AT_FDCWD, path, bytes, sizeof(bytes));
    if (n < 0)
        return error_set(err, (int)n, "can't read the key %s: %s", path, strerror((int)-n));
    if (n < LEAST)
        return error_set(err, BARO_E_RANGE, "the key %s has %zd bytes; it takes %d or more", path, n, LEAST);
    for (unsigned i = 0; i < 2; i++)
        ret[i] = pseudonym_hash(halves[i], bytes, (size_t)n);
    return 0;
}

int cmd_anonymize(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    struct baro_error err = BARO_ERROR_INIT;
    struct renaming r = {.p.is_given = s->key != NULL};
    struct baro_tape *tape;
    struct reader_path path;
    if (!s->output)
        return cli_failf(cli, "-o FILE is missing");
    if (s->key && read_key(s->key, r.p.key, &err) < 0)
        return cli_fail(cli, &err);
    if (!s->key && getrandom(r.p.key, sizeof(r.p.key), 0) != (ssize_t)sizeof(r.p.key))
        return cli_failf(cli, "the kernel gives no random bytes for a key; give one with --key");
    int status = reader_open(cli, argv[0], &tape, &path);
    if (status)
        return status;
    options.force = s->force;
    options.text = other_text;
    options.uid = other_uid;
    options.context = &r;
    status = copy_tape(cli, tape, s->output, &options, NULL, NULL);
    pseudonyms_done(&r.p);
    baro_tape_close(tape);
    return status;
}
