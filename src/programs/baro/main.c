/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "baro/baro.h"
#include "base/fd.h"
#include "programs/baro/programs.h"
#include "programs/common/cli.h"

/* Handles words that are not a command of this program. */
static int other_program(struct cli *cli, char **argv)
{
    int status;
    const char *word = argv[1];
    if (cli->command)
        return programs_execute(cli, argv);
    return programs_other(cli, word, argv + 1, &status) ? status : cli_unknown(cli, word);
}

static int begin_on_stack(int argc, char **argv)
{
    struct cli cli = {.before = {.pid = getpid()}};
    struct settings settings;
    struct buf b = {0};
    clock_process_cpu_ns(0, &cli.before.cpu_ns);
    fd_hold_standard(); /* opens those of 0, 1 and 2 that are closed, so that no file of ours gets their numbers */
    cli_init(&cli);
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cli_overview(&cli, &b);
        return cli_out_done(&cli, &b);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        buf_printf(&b, "baro %s\n", baro_version());
        return cli_out_done(&cli, &b);
    }
    if (word[0] == '-')
        return cli_failf(&cli, "unknown option %s; options stand after the command, `baro help` lists all", word);
    cli.command = cli_find(word);
    if (!cli.command || !cli.command->function)
        return other_program(&cli, argv);
    settings_init(&settings);
    return cli_run(&cli, &settings, argv + 2);
}

/* ---- a stack that is large enough, also where the job is to have a small one ---- */

#define STACK_LEAST (512u << 10)
#define STACK_OWN (1u << 20)

/* Arguments of the signal handler. They are written before it runs, and never after. */
struct entry {
    int argc;
    char **argv;
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
    exit(begin_on_stack(e->argc, e->argv));
}

/* Moves to a larger stack. The handler runs on the stack of sigaltstack(2) and never returns: in C there is no other
 * way to another stack in the same process. The stack limit stays as it is for the command. Returns only if this
 * fails. */
static void move_to_own_stack(int argc, char **argv)
{
    struct entry e = {.argc = argc, .argv = argv};
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
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_LEAST)
        move_to_own_stack(argc, argv);
    return begin_on_stack(argc, argv);
}
