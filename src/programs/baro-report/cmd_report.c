/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "programs/baro-report/folder.h"
#include "programs/baro-report/formats.h"
#include "programs/common/output.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && strcmp(name + n - k, ending) == 0;
}

/* By --format, else by the end of the name. NULL: neither says it. */
static const struct report_format *choose(const struct settings *s)
{
    if (s->report_format >= 0)
        return &report_formats[s->report_format];
    if (!s->output || strcmp(s->output, "-") == 0)
        return &report_formats[0];
    const struct report_format *f = report_formats;
    while (f->name && !ends_with(s->output, f->ending))
        f++;
    return f->name ? f : NULL;
}

/* The name of the tape's file with another ending, in the current folder. */
static void default_name(const char *tape, const char *ending, char ret[PATH_MAX])
{
    const char *name = path_base_name(tape);
    int n = (int)strlen(name);
    if (ends_with(name, ".baro"))
        n -= 5;
    snprintf(ret, PATH_MAX, "%.*s%s", n, name, ending);
}

static int to_output(void *context, const char *text, size_t len)
{
    return output_write(context, text, len, NULL);
}

static int write_file(const struct cli *cli, const struct report_format *format, const struct report_input *in,
                      const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct output o;
    int code = output_open(&o, name, in->force, false, &err);
    if (code >= 0)
        code = format->write(in, to_output, &o, &err);
    if (code >= 0)
        code = output_commit(&o, &err);
    if (code < 0 && !err.text[0])
        error_set(&err, code, "can't write %s: %s", name ? name : "to standard output", strerror(-code));
    output_done(&o);
    return code < 0 ? cli_fail(cli, &err) : 0;
}

/* DIR/, or a folder that is there. */
static bool is_folder(const struct settings *s)
{
    struct stat st;
    return s->output && s->report_format < 0 &&
           (ends_with(s->output, "/") || (stat(s->output, &st) == 0 && S_ISDIR(st.st_mode)));
}

static int write_folder(const struct cli *cli, const struct report_input *in, const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    int code = report_folder(in, path, &err);
    if (code < 0 && !err.text[0])
        error_set(&err, code, "can't write %s: %s", path, strerror(-code));
    return code < 0 ? cli_fail(cli, &err) : 0;
}

static int report(const struct cli *cli, const struct settings *s, const struct report_input *in)
{
    const struct report_format *format = choose(s);
    char name[PATH_MAX];
    if (is_folder(s))
        return write_folder(cli, in, s->output);
    if (!format)
        return cli_failf(cli,
                         "what %s should be is not clear from its name: it ends with .html, .md, .json or / (a "
                         "folder), or --format says it",
                         s->output);
    if (s->output)
        return write_file(cli, format, in, strcmp(s->output, "-") == 0 ? NULL : s->output);
    default_name(in->path, format->ending, name);
    int status = write_file(cli, format, in, name);
    if (status == 0)
        cli_note(cli, "wrote %s", name);
    return status;
}

static int append(void *context, const char *text, size_t len)
{
    return fd_write_all(*(int *)context, text, len, NULL);
}

/* The Markdown behind what is in the job summary of GitHub Actions already. */
static int add_to_github(const struct cli *cli, const struct report_input *in)
{
    struct baro_error err = BARO_ERROR_INIT;
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    if (!path || !*path)
        return cli_failf(cli, "--github: GITHUB_STEP_SUMMARY is not set; GitHub Actions sets it, or use -o FILE.md");
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return cli_failf(cli, "can't open %s: %s", path, strerror(errno));
    int code = report_markdown(in, append, &fd, &err);
    close(fd);
    if (code < 0 && !err.text[0])
        error_set(&err, code, "can't write %s: %s", path, strerror(-code));
    return code < 0 ? cli_fail(cli, &err) : 0;
}

int cmd_report(struct cli *cli, const struct settings *s, char **argv)
{
    struct reader_path path;
    struct report_input in = {.path = path.at, .force = s->force};
    int status = reader_open(cli, argv[0], &in.tape, &path);
    if (status)
        return status;
    in.zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(in.tape)));
    if (s->github && (s->output || s->report_format >= 0))
        status = cli_failf(cli, "--github and %s exclude each other", s->output ? "-o" : "--format");
    else
        status = s->github ? add_to_github(cli, &in) : report(cli, s, &in);
    baro_tape_close(in.tape);
    return status;
}
