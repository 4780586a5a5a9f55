/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal can show, and the few ways in which commands write to it. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "output/rows/escaped.h"
#include "output/rows/wrap.h"
#include "programs/common/cli.h"

#define WIDTH_DEFAULT 100u
#define WIDTH_MIN 40u
#define WIDTH_MAX 400u

static uint64_t env_number(const char *variable)
{
    const char *value = getenv(variable);
    struct span text = span_str(value ? value : "");
    uint64_t v = 0;
    return scan_u64(&text, &v) && !text.len ? v : 0;
}

static unsigned terminal_width(int fd)
{
    struct winsize size;
    uint64_t v = env_number("COLUMNS");
    if (v == 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
        v = size.ws_col;
    if (v == 0)
        v = WIDTH_DEFAULT;
    return v < WIDTH_MIN ? WIDTH_MIN : v > WIDTH_MAX ? WIDTH_MAX : (unsigned)v;
}

/* setlocale() is not called: baro is linked without shared objects, and a static libc knows only the locale C. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

void cli_resize(struct cli *cli)
{
    struct winsize size;
    uint64_t lines = env_number("LINES");
    cli->width = terminal_width(STDOUT_FILENO);
    cli->table_width = cli->tty || env_number("COLUMNS") ? cli->width : 0;
    if (lines == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        lines = size.ws_row;
    cli->height = !cli->tty || lines > 10000 ? 0 : (unsigned)lines;
}

void cli_init(struct cli *cli)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool color = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
    cli->tty = isatty(STDOUT_FILENO);
    cli->tty_err = isatty(STDERR_FILENO);
    cli->utf8 = locale_is_utf8();
    cli->color = color && cli->tty;
    cli->color_err = color && cli->tty_err;
    cli_resize(cli);
    cli->width_err = terminal_width(STDERR_FILENO);
    cli->table_width_err = cli->tty_err || env_number("COLUMNS") ? cli->width_err : 0;
}

static void write_terminal(const struct cli *cli, const char *text)
{
    struct buf b = {0};
    buf_printf(&b, "baro%s%s: %s\n", cli->command ? " " : "", cli->command ? cli->command->name : "", text);
    if (cli->tty_err)
        wrap_lines(&b, 0, cli->width_err);
    if (b.failed) { /* writes the message unwrapped, so that it also appears if memory ran out */
        char line[512];
        int n = snprintf(line, sizeof(line), "baro: %s\n", text);
        fd_write_all(STDERR_FILENO, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1, NULL);
    } else {
        fd_write_all(STDERR_FILENO, b.at, b.len, NULL);
    }
    buf_done(&b);
}

int cli_fail(const struct cli *cli, const struct baro_error *err)
{
    write_terminal(cli, err->text[0]                         ? err->text
                        : err->code < 0 && err->code > -4096 ? strerror(-err->code)
                                                             : "failed");
    return cli->command && cli->command->failed ? cli->command->failed : CLI_FAILED;
}

__attribute__((format(printf, 3, 0))) static void set_text(struct baro_error *err, int code, const char *format,
                                                           va_list arguments)
{
    char text[sizeof(err->text)];
    vsnprintf(text, sizeof(text), format, arguments);
    error_set(err, code, "%s", text);
}

int cli_failf(const struct cli *cli, const char *format, ...)
{
    struct baro_error err = BARO_ERROR_INIT;
    va_list arguments;
    va_start(arguments, format);
    set_text(&err, -EINVAL, format, arguments);
    va_end(arguments);
    return cli_fail(cli, &err);
}

void cli_note(const struct cli *cli, const char *format, ...)
{
    struct baro_error err = BARO_ERROR_INIT;
    va_list arguments;
    va_start(arguments, format);
    set_text(&err, 0, format, arguments);
    va_end(arguments);
    write_terminal(cli, err.text);
}

int cli_out(const struct cli *cli, struct buf *b)
{
    if (b->failed)
        return cli_failf(cli, "out of memory");
    int code = fd_write_all(STDOUT_FILENO, b->at, b->len, NULL);
    buf_clear(b);
    return code < 0 ? cli_failf(cli, "can't write to standard output: %s", strerror(-code)) : 0;
}

int cli_out_done(const struct cli *cli, struct buf *b)
{
    int status = cli_out(cli, b);
    buf_done(b);
    return status;
}

int cli_out_text(const struct cli *cli, struct buf *b)
{
    if (!cli->utf8)
        text_ascii(b, 0);
    return cli_out(cli, b);
}
