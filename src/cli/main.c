/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "baro/baro.h"
#include "cli/cli.h"
#include "encode/wrap.h"
#include "run/run.h"

/* What is set from outside; in --help of the overview, and where runs are kept. */
static void environment(struct buf *b)
{
    buf_str(b,
            "environment:\n"
            "  BARO_DIR the folder of the kept runs (default: $XDG_STATE_HOME/barograph, or ~/.local/state/barograph)\n"
            "  BARO_KEEP how many runs are kept, and how much they may take: \"200 runs,1GB\" (default: 500 runs and 2 "
            "GB; the oldest go first)\n"
            "  NO_COLOR if set and not empty, nothing is coloured\n");
}

void cli_overview(const struct cli *cli, struct buf *b)
{
    buf_str(b, "baro records what a job presses on a machine: every process of it, at a cost nobody notices.\n\n"
               "usage: baro COMMAND [OPTION...]\n\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (!c->hidden)
            buf_printf(b, "  %-9s%s\n", c->name, c->summary);
    }
    buf_str(b, "\nStart with `baro run -- COMMAND`, then `baro summary`, `baro show` and `baro export`.\n"
               "`baro COMMAND --help` says more; `baro --version` says which version this is.\n\n");
    environment(b);
    wrap_lines(b, 0, cli->width < 100 ? cli->width : 100);
}

/* Operands of no option are one word longer than their usage where none are needed. */
void cli_usage(const struct cli *cli, const struct cli_command *c, struct buf *b)
{
    size_t from = b->len;
    buf_printf(b, "usage: baro %s [OPTION...]%s%s\n\n", c->name, *c->operands ? " " : "", c->operands);
    buf_printf(b, "%c%s.\n\n", c->summary[0] - 'a' + 'A', c->summary + 1);
    wrap_lines(b, from, cli->width < 100 ? cli->width : 100);
    opt_help(c->options, cli->width < 100 ? cli->width : 100, b);
    if (c->about)
        buf_byte(b, '\n');
    for (const char *p = c->about ? c->about : ""; *p;) {
        size_t n = strcspn(p, "\n"), room = cli->width < 100 ? cli->width : 100;
        while (n > room) {
            size_t cut = room;
            while (cut && p[cut] != ' ')
                cut--;
            buf_add(b, p, cut);
            buf_byte(b, '\n');
            p += cut + 1;
            n -= cut + 1;
        }
        buf_add(b, p, n);
        buf_byte(b, '\n');
        p += n + (p[n] == '\n');
    }
    if (c->function == cmd_run || c->function == cmd_record || c->function == cmd_ls || c->function == cmd_rm) {
        buf_byte(b, '\n');
        from = b->len;
        environment(b);
        wrap_lines(b, from, cli->width < 100 ? cli->width : 100);
    }
}

static int print(const struct cli *cli, struct buf *b)
{
    int status = cli_out(cli, b);
    buf_done(b);
    return status;
}

int cmd_help(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf b = {0};
    (void)s;
    if (!argv[0]) {
        cli_overview(cli, &b);
        return print(cli, &b);
    }
    const struct cli_command *c = cli_find(argv[0]);
    if (!c)
        return cli_failf(cli, "there is no command %s; `baro help` lists all", argv[0]);
    cli_usage(cli, c, &b);
    return print(cli, &b);
}

static int unknown_command(const struct cli *cli, const char *word)
{
    const char *names[32];
    size_t n = 0;
    for (const struct cli_command *c = cli_commands; c->name && n < 31; c++) {
        if (!c->hidden)
            names[n++] = c->name;
    }
    names[n] = NULL;
    const char *near = opt_nearest(word, names);
    if (near)
        return cli_failf(cli, "there is no command %s; did you mean %s? (`baro help` lists all)", word, near);
    return cli_failf(cli, "there is no command %s; `baro help` lists all, `baro run -- %s` records it", word, word);
}

static int check_operands(const struct cli *cli, char **argv, int n)
{
    const struct cli_command *c = cli->command;
    if (n < c->operands_min)
        return cli_failf(cli, "%s is missing; usage: baro %s %s", c->stop_early ? "the command" : "an operand", c->name,
                         c->operands);
    if (c->operands_max >= 0 && n > c->operands_max)
        return cli_failf(cli, "unexpected %s; usage: baro %s [OPTION...] %s", argv[c->operands_max], c->name,
                         c->operands);
    return 0;
}

static int run_command(struct cli *cli, char **argv)
{
    struct settings settings;
    struct baro_error err = BARO_ERROR_INIT;
    bool help;
    settings_init(&settings);
    int n = opt_parse(cli->command->options, argv, cli->command->stop_early, &settings, &help, &err);
    if (n < 0)
        return cli_fail(cli, &err);
    if (help) {
        struct buf b = {0};
        cli_usage(cli, cli->command, &b);
        return print(cli, &b);
    }
    int status = check_operands(cli, argv, n);
    return status ? status : cli->command->function(cli, &settings, argv);
}

/* A command under a filter that kills must not be killed for what we call (run/filter.h): before all else. */
static struct filter filter_of(int argc, char **argv)
{
    struct filter f = {0};
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        filter_look(&f);
    return f;
}

static int begin(int argc, char **argv, const struct filter *filter)
{
    struct cli cli = {.filter = *filter};
    struct buf b = {0};
    /* What is closed of 0, 1 and 2 must not become one of our files. */
    if (!filter->essential && !filter->process_errno)
        run_hold_standard_fds();
    cli_init(&cli);
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cli_overview(&cli, &b);
        return print(&cli, &b);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        buf_printf(&b, "baro %s\n", baro_version());
        return print(&cli, &b);
    }
    if (word[0] == '-')
        return cli_failf(&cli, "unknown option %s; options stand after the command, `baro help` lists all", word);
    cli.command = cli_find(word);
    return cli.command ? run_command(&cli, argv + 2) : unknown_command(&cli, word);
}

/* ---- a stack that is large enough, also where the job is to have a small one ---- */

#define STACK_LEAST (512u << 10)
#define STACK_OWN (1u << 20)

/* What a signal handler can be told. Written before it runs, and never after. */
struct entry {
    int argc;
    char **argv;
    const struct filter *filter;
    struct sigaction action;
    sigset_t mask;
};

static struct entry *entry_of(struct entry *set)
{
    static struct entry *entry;
    if (set)
        entry = set;
    return entry;
}

static void on_own_stack(int signal)
{
    struct entry *e = entry_of(NULL);
    sigaction(signal, &e->action, NULL);
    sigprocmask(SIG_SETMASK, &e->mask, NULL);
    exit(begin(e->argc, e->argv, e->filter));
}

/* A handler runs where sigaltstack(2) says, and from this one nobody returns: the one way in C to another stack in the
 * same process. The limit stays as it is, for the command. Returns if it can't be done. */
static void move_to_own_stack(int argc, char **argv, const struct filter *filter)
{
    struct entry e = {.argc = argc, .argv = argv, .filter = filter};
    const struct sigaction go = {.sa_handler = on_own_stack, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_size = STACK_OWN};
    sigset_t set;
    stack.ss_sp =
        mmap(NULL, STACK_OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    entry_of(&e);
    sigprocmask(SIG_SETMASK, NULL, &e.mask);
    if (sigaction(SIGURG, &go, &e.action) < 0)
        return;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGURG);
}

int main(int argc, char **argv)
{
    struct filter filter = filter_of(argc, argv);
    struct rlimit limit;
    bool may_move = !filter.essential && !filter_lacks(&filter, FILTER_LIMITS) && !filter_lacks(&filter, FILTER_STACK);
    if (may_move && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_LEAST)
        move_to_own_stack(argc, argv, &filter);
    return begin(argc, argv, &filter);
}
