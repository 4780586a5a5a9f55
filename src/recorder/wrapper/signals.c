/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/wrapper/wrapper.h"

sigmask sigmask_set(int how, sigmask set)
{
    sigmask before = 0;

    syscall(SYS_rt_sigprocmask, how, &set, &before, sizeof(set));
    return before;
}

int sigmask_wait(sigmask set, siginfo_t *ret, const struct timespec *timeout)
{
    long signal = syscall(SYS_rt_sigtimedwait, &set, ret, timeout, sizeof(set));

    return signal < 0 ? -errno : (int)signal;
}

/* SIG_DFL, no flags, an empty mask: all zero in every layout of the kernel's struct; libc would refuse 32 and 33. */
void signal_reset(int signal)
{
    uint64_t action[8] = {0};

    syscall(SYS_rt_sigaction, signal, action, NULL, sizeof(sigmask));
}

/* A signal that a process sent was meant for the command. A signal from the kernel has reached the command as well,
 * because it is in the same process group, with one exception: when a terminal hangs up, only the leader of its session
 * is signalled (tty_signal_session_leader() in drivers/tty/tty_jobctrl.c), and without us that would have been the
 * command. */
static bool is_for_command(const struct wrapper *w, const siginfo_t *info)
{
    if (info->si_code > 0)
        return w->session_leader && (info->si_signo == SIGHUP || info->si_signo == SIGCONT) &&
               info->si_code == SI_KERNEL;
    if (info->si_code != SI_USER && info->si_code != SI_QUEUE && info->si_code != SI_TKILL)
        return true;
    /* Not forwarded: a signal of the command itself, from kill(0, ...), because it has it already; one of ours, the
     * SIGPIPE of a closed stderr; the watcher's, which is to stop us; the recorder's, which announces a message. */
    return info->si_pid != w->self && info->si_pid != w->command && info->si_pid != w->recorder &&
           (!w->watcher || info->si_pid != w->watcher);
}

/* Only we reap the command, so its pid can't be another process's; that makes kill(2) as exact as a pidfd, on every
 * kernel. Value and sender are kept where the kernel allows it: rt_sigqueueinfo(2) refuses the codes of kill() and
 * tkill(). */
static int signal_forward(const struct wrapper *w, const siginfo_t *info)
{
    pid_t pid = w->command;

    if (pid <= 1) /* kill(-1) would signal every process */
        return -EINVAL;
    if (info->si_code < 0 && info->si_code != SI_TKILL)
        if (syscall(SYS_rt_sigqueueinfo, pid, info->si_signo, info) == 0)
            return 0;
    return kill(pid, info->si_signo) < 0 ? -errno : 0;
}

void signal_handle(struct wrapper *w, const siginfo_t *info)
{
    bool goes_on = info->si_signo == SIGCONT && w->stopped_by;

    if (w->recorder && info->si_signo == SIGURG && info->si_code == SI_USER && info->si_pid == w->recorder)
        link_print(w);
    if (!w->command || w->command_ended || !is_for_command(w, info))
        return;
    /* If the command was continued with its group, a second SIGCONT could undo its next stop, or run a handler twice.
     */
    if (goes_on && mirror_has_news(w))
        return;
    if (signal_forward(w, info) == 0)
        link_report(w, LINK_SIGNAL, info->si_signo);
    if (goes_on)
        mirror_end(w);
}

_Noreturn void run_die_like(const struct run_result *result)
{
    const struct rlimit none = {0, 0};
    pid_t self = getpid(); /* may be refused, and kill(-1) is every process */
    int signal;

    if (result->exec_errno)
        _exit(result->exec_errno == ENOENT ? 127 : 126);
    if (result->limit_reached)
        _exit(RUN_LIMIT_STATUS);
    if (WIFEXITED(result->wait_status))
        _exit(WEXITSTATUS(result->wait_status));
    signal = WTERMSIG(result->wait_status);
    /* One core, the command's, is enough. A limit of 0 does not disable a core pattern that is a pipe; this does. */
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    signal_reset(signal);
    if (self <= 1)
        self = (pid_t)syscall(SYS_gettid);
    if (self > 1)
        kill(self, signal);
    sigmask_set(SIG_UNBLOCK, SIGMASK_OF(signal));
    _exit(128 + signal); /* default signals don't end process 1 of a namespace */
}
