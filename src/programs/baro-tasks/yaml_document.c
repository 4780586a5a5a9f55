/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-tasks/yaml_document.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- errors ---- */

unsigned document_line(const yaml_node_t *at)
{
    return (unsigned)at->start_mark.line + 1;
}

unsigned document_column(const yaml_node_t *at)
{
    return (unsigned)at->start_mark.column + 1;
}

int document_error(const struct document *d, const yaml_node_t *at, const char *format, ...)
{
    char what[400];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof(what), format, list);
    va_end(list);
    return error_set(d->err, BARO_E_SYNTAX, "%s:%u:%u: %s", d->path, document_line(at), document_column(at), what);
}

int document_error_why(const struct document *d, const yaml_node_t *at, const struct baro_error *why,
                       const char *advice)
{
    int code = document_error(d, at, "%s", "");
    if (d->err) {
        size_t n = strlen(d->err->text);
        snprintf(d->err->text + n, sizeof(d->err->text) - n, "%s; %s", why->text, advice);
    }
    return code;
}

/* libyaml counts lines where it parses, but not where it decodes. */
static int decoding_error(const struct document *d, const yaml_parser_t *p)
{
    unsigned line = 1, column = 1;
    for (size_t i = 0; i < p->problem_offset && i < d->text.len; i++) {
        bool ends = ((const char *)d->text.at)[i] == '\n';
        line += ends;
        column = ends ? 1 : column + 1;
    }
    return error_set(d->err, BARO_E_SYNTAX, "%s:%u:%u: not text (%s); write the file in UTF-8", d->path, line, column,
                     p->problem ? p->problem : "a byte that is no character");
}

static int parser_error(const struct document *d, const yaml_parser_t *p)
{
    if (p->error == YAML_READER_ERROR)
        return decoding_error(d, p);
    if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR) /* not all its errors say so */
        return error_set(d->err, -ENOMEM, "can't read %s: out of memory", d->path);
    return error_set(d->err, BARO_E_SYNTAX, "%s:%zu:%zu: not YAML: %s%s%s; check the indentation and the quotes",
                     d->path, p->problem_mark.line + 1, p->problem_mark.column + 1, p->context ? p->context : "",
                     p->context ? ", " : "", p->problem ? p->problem : "it can't be parsed");
}

/* ---- the file ---- */

/* Returns a descriptor or a negative code. */
static int open_in_folder(const struct document *d)
{
    struct stat folder, st;
    char path[PATH_MAX];
    const char *slash = strrchr(d->path, '/');
    int n = slash ? snprintf(path, sizeof(path), "%.*s/", (int)(slash - d->path), d->path)
                  : snprintf(path, sizeof(path), ".");
    int dir = n < (int)sizeof(path) ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int fd = dir < 0
                 ? -1
                 : openat(dir, slash ? slash + 1 : d->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    int code = fd < 0 || fstat(dir, &folder) < 0 || fstat(fd, &st) < 0 ? -errno : 0;
    if (dir >= 0)
        close(dir);
    if (code == 0 && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == folder.st_uid))
        return fd;
    if (fd >= 0)
        close(fd);
    if (code == -ELOOP)
        return error_set(d->err, code, "%s is a link, which is not followed; put the file there", d->path);
    if (code < 0)
        return error_set(d->err, code, "can't open %s: %s", d->path, strerror(-code));
    return error_set(d->err, -EPERM, "%s is not read: it must be a regular file of root or of the owner of its folder",
                     d->path);
}

static int read_document(struct document *d, bool in_folder)
{
    struct stat st;
    char part[65536];
    ssize_t n = 0;
    int fd = in_folder ? open_in_folder(d) : open(d->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return in_folder ? fd : error_set(d->err, -errno, "can't open %s: %s", d->path, strerror(errno));
    int code = fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : 0;
    while (code == 0 && d->text.len <= DOCUMENT_MOST && (n = read(fd, part, sizeof(part))) > 0)
        buf_add(&d->text, part, (size_t)n);
    code = code == 0 && n < 0 ? -errno : code;
    close(fd);
    if (code < 0)
        return error_set(d->err, code, "can't read %s: %s", d->path, strerror(-code));
    if (d->text.failed)
        return error_set(d->err, -ENOMEM, "out of memory");
    if (d->text.len > DOCUMENT_MOST)
        return error_set(d->err, BARO_E_RANGE, "%s is larger than %u bytes, which no task file is", d->path,
                         DOCUMENT_MOST);
    return 0;
}

static int check_end(struct document *d, yaml_parser_t *p)
{
    yaml_document_t more;
    if (!yaml_parser_load(p, &more))
        return parser_error(d, p);
    const yaml_node_t *root = yaml_document_get_root_node(&more);
    int code = root ? document_error(d, root, "a second document; a task file is one (remove the line ---)") : 0;
    yaml_document_delete(&more);
    return code;
}

static int begin_parser(const struct document *d, yaml_parser_t *p)
{
    if (!yaml_parser_initialize(p))
        return error_set(d->err, -ENOMEM, "out of memory");
    yaml_parser_set_input_string(p, d->text.len ? (const unsigned char *)d->text.at : (const unsigned char *)"",
                                 d->text.len);
    return 0;
}

static bool has_anchor(const yaml_event_t *e)
{
    return e->type == YAML_ALIAS_EVENT || (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor);
}

/* Refuses a file at the first place that is too deep, or has too many anchors. libyaml takes time that grows with the
 * square of both: more than 15 s for 200 kB of "[". */
static int check_costs(const struct document *d)
{
    yaml_parser_t p;
    yaml_event_t e;
    unsigned depth = 0, anchors = 0;
    int code = begin_parser(d, &p);
    if (code < 0)
        return code;
    for (bool more = true; code == 0 && more;) {
        if (!yaml_parser_parse(&p, &e)) {
            code = parser_error(d, &p);
            break;
        }
        bool opens = e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_MAPPING_START_EVENT;
        depth += opens;
        depth -= e.type == YAML_SEQUENCE_END_EVENT || e.type == YAML_MAPPING_END_EVENT;
        if (opens && depth > DOCUMENT_DEPTH)
            code = error_set(d->err, BARO_E_SYNTAX, "%s:%zu:%zu: more than %u lists and maps within each other",
                             d->path, e.start_mark.line + 1, e.start_mark.column + 1, DOCUMENT_DEPTH);
        anchors += has_anchor(&e);
        if (code == 0 && anchors > DOCUMENT_ANCHORS)
            code = error_set(d->err, BARO_E_SYNTAX, "%s:%zu:%zu: more than %u anchors and aliases", d->path,
                             e.start_mark.line + 1, e.start_mark.column + 1, DOCUMENT_ANCHORS);
        more = e.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&p);
    return code;
}

static int load(struct document *d)
{
    yaml_parser_t p;
    int code = check_costs(d);
    if (code < 0 || (code = begin_parser(d, &p)) < 0)
        return code;
    d->loaded = yaml_parser_load(&p, &d->yaml);
    code = d->loaded ? check_end(d, &p) : parser_error(d, &p);
    yaml_parser_delete(&p);
    return code;
}

int document_read(struct document *d, const char *path, bool in_folder, struct baro_error *err)
{
    *d = (struct document){.path = path, .err = err};
    int code = read_document(d, in_folder);
    return code < 0 ? code : load(d);
}

int document_parse(struct document *d, const char *path, struct span text, struct baro_error *err)
{
    *d = (struct document){.path = path, .err = err};
    buf_add(&d->text, text.at, text.len);
    return d->text.failed ? error_set(err, -ENOMEM, "out of memory") : load(d);
}

void document_done(struct document *d)
{
    if (d->loaded)
        yaml_document_delete(&d->yaml);
    d->loaded = false;
    buf_done(&d->text);
}

/* ---- nodes ---- */

bool document_is_bare(const yaml_node_t *at)
{
    return at->type == YAML_SCALAR_NODE && at->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

const char *document_text(const yaml_node_t *at)
{
    return (const char *)at->data.scalar.value;
}

const char *document_type(const yaml_node_t *at)
{
    if (at->type == YAML_MAPPING_NODE)
        return "a mapping";
    if (at->type == YAML_SEQUENCE_NODE)
        return "a list";
    if (!document_is_bare(at))
        return "quoted text";
    const char *text = document_text(at);
    return !*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ? "nothing" : "text";
}
