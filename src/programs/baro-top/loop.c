/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for keys, signals and the tape, and draws what has changed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "programs/baro-top/beside.h"
#include "programs/baro-top/terminal.h"
#include "programs/baro-top/top.h"

#define SLICE_NS (30 * NS_PER_MS) /* time of reading between two checks for keys */
#define CHECK_NS NS_PER_SEC       /* time between two checks whether the recorder still runs: it may have been killed */

struct loop {
    struct top *top;
    struct terminal terminal;
    int in_fd, signal_fd;
    int beside_fd;    /* beside a job: the wrapper's socket; -1: on our own */
    uint64_t read_ns; /* when the tape was read last */
    bool is_written;  /* the tape has more */
    bool is_behind;   /* the tape was not read to its end yet */
    bool is_changed;  /* the terminal does not show the present state */
    bool is_over;
    bool is_job_over; /* beside a job */
    int signal;       /* the signal that ends the program; 0: none */
};

static const int taken_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGCONT, SIGWINCH};

static int take_signals(struct loop *l)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(taken_signals) / sizeof(*taken_signals); i++)
        sigaddset(&set, taken_signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return l->signal_fd < 0 ? -errno : 0;
}

/* Takes the default action of a signal, by unblocking it for a moment. */
static void let_signal(int signal)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigaction(signal, &by_default, NULL);
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Is the signal meant for the job? Beside a job, ^C and ^Z are. If the job stops, the wrapper asks for the terminal.
 * This program does not stop: a job that ignores ^Z continues, and no shell would continue the view. */
static bool is_for_job(const struct loop *l, int signal)
{
    return l->beside_fd >= 0 && (signal == SIGTSTP || signal == SIGINT || signal == SIGQUIT || signal == SIGCONT);
}

static void on_signal(struct loop *l, int signal)
{
    if (is_for_job(l, signal))
        return;
    switch (signal) {
    case SIGTSTP: /* stops here, until it is continued */
        terminal_suspend(&l->terminal);
        let_signal(SIGTSTP);
        terminal_resume(&l->terminal);
        terminal_mouse(&l->terminal, l->top->ui.mouse);
        l->is_changed = true;
        break;
    case SIGCONT: /* another program may have drawn meanwhile */
        terminal_resume(&l->terminal);
        l->is_changed = true;
        break;
    case SIGWINCH: l->is_changed = true; break;
    default: l->signal = signal; l->is_over = true;
    }
}

static void read_signals(struct loop *l)
{
    struct signalfd_siginfo info;
    while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info))
        on_signal(l, (int)info.ssi_signo);
}

/* ---- keys ---- */

static void show_message(struct ui *u, const char *text)
{
    snprintf(u->message, sizeof(u->message), "%.*s", (int)sizeof(u->message) - 1, text);
}

static int go(struct top *t, const char *text)
{
    int code = top_go(t, text);
    if (code < 0) {
        show_message(&t->ui, code == BARO_E_RANGE ? t->err.text
                                                  : "not a time: write +90s, -10s, 50%, start, peak, end or 12:30:05");
        return 0;
    }
    return top_move(t);
}

static int step_sample(struct top *t, bool is_later)
{
    uint64_t at_ns = t->ui.live ? t->feed.last_ns : t->ui.at_ns;
    t->ui.at_ns = feed_neighbour(&t->feed, at_ns, is_later);
    t->ui.live = is_later && t->ui.at_ns >= t->feed.last_ns;
    return top_move(t);
}

static int act(struct loop *l, enum action action)
{
    struct top *t = l->top;
    l->is_changed = l->is_changed || action != ACTION_NONE;
    switch (action) {
    case ACTION_ARRANGE: model_arrange(&t->model, &t->ui.wish); return 0;
    case ACTION_MOVE: return top_move(t);
    case ACTION_BACK:
    case ACTION_ON: return step_sample(t, action == ACTION_ON);
    case ACTION_GO: return go(t, t->ui.input);
    case ACTION_PEAK: return go(t, "peak");
    case ACTION_MOUSE:
        terminal_mouse(&l->terminal, t->ui.mouse);
        show_message(&t->ui, t->ui.mouse ? "the mouse selects rows and scrolls; w: the terminal selects text again"
                                         : "the mouse selects text of the terminal");
        return 0;
    case ACTION_QUIT: l->is_over = true; return 0;
    default: return 0;
    }
}

static int read_keys(struct loop *l)
{
    uint32_t key;
    int row = 0, code = 0;
    while (code >= 0 && !l->is_over && terminal_key(&l->terminal, &key, &row)) {
        l->top->ui.click_row = row - (l->top->grid.rows - 1 - (int)l->top->ui.page);
        if (key != KEY_IS_CLICK || l->top->ui.click_row >= 0)
            code = act(l, ui_key(&l->top->ui, &l->top->model, key));
    }
    return code;
}

/* ---- the tape ---- */

static int read_new_records(struct loop *l)
{
    struct top *t = l->top;
    bool first = !t->feed.is_read;
    int more = feed_read(&t->feed, SLICE_NS, &t->err);
    if (more < 0)
        return more;
    l->is_behind = more > 0;
    l->is_written = false;
    l->read_ns = clock_monotonic_ns();
    l->is_changed = true;
    if (first && !l->is_behind && (top_refresh(t) < 0 || top_begin(t) < 0))
        return t->err.code;
    return first && !l->is_behind ? top_move(t) : top_refresh(t);
}

/* Follows the tape: reads it when it was written to, but not more often than a person can see, and not at all once
 * it has no writer. */
static int follow_tape(struct loop *l)
{
    struct top *t = l->top;
    uint64_t now_ns = clock_monotonic_ns();
    if (l->is_behind)
        return read_new_records(l);
    if (t->feed.state != BARO_TAPE_RUNNING || now_ns < l->read_ns + FEED_STEP_NS)
        return 0;
    if (!l->is_written && now_ns < l->read_ns + CHECK_NS)
        return 0;
    int code = baro_tape_wait(t->feed.tape, 0, &t->err);
    l->read_ns = now_ns;
    l->is_written = false;
    if (code == BARO_E_ENDED || code > 0)
        return read_new_records(l);
    return code;
}

/* Beside a job: checks whether the terminal belongs to us now, and gives it back or takes it again. */
static bool has_terminal(struct loop *l)
{
    if (l->beside_fd < 0)
        return true;
    bool is_ours = !l->top->is_away && beside_has_terminal(l->in_fd);
    if (is_ours && l->terminal.is_suspended) {
        terminal_resume(&l->terminal);
        l->is_changed = true;
    } else if (!is_ours) {
        terminal_suspend(&l->terminal);
    }
    return is_ours;
}

static int timeout_of(const struct loop *l)
{
    uint64_t now_ns = clock_monotonic_ns(), due_ns;
    if (l->is_behind)
        return 0;
    if (l->terminal.is_suspended)
        return (int)(CHECK_NS / NS_PER_MS);
    if (l->top->feed.state != BARO_TAPE_RUNNING)
        return -1;
    due_ns = l->read_ns + (l->is_written ? FEED_STEP_NS : CHECK_NS);
    return due_ns > now_ns ? (int)((due_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static void draw_screen(struct loop *l)
{
    struct top *t = l->top;
    int rows, columns;
    terminal_size(&l->terminal, &rows, &columns);
    if ((rows != t->grid.rows || columns != t->grid.columns) && grid_resize(&t->grid, rows, columns) < 0)
        return;
    top_draw(t);
    terminal_draw(&l->terminal, &t->grid);
    l->is_changed = false;
}

static int take_turn(struct loop *l)
{
    int code = follow_tape(l);
    if (code < 0)
        return code;
    bool is_ours = has_terminal(l);
    if (l->is_changed && is_ours)
        draw_screen(l);
    struct pollfd fds[] = {{.fd = l->signal_fd, .events = POLLIN},
                           {.fd = is_ours ? l->in_fd : -1, .events = POLLIN},
                           {.fd = l->is_written ? -1 : baro_tape_poll_fd(l->top->feed.tape), .events = POLLIN},
                           {.fd = l->beside_fd, .events = POLLIN}};
    if (poll(fds, 4, timeout_of(l)) < 0)
        return errno == EINTR ? 0 : -errno;
    if (fds[0].revents)
        read_signals(l);
    if (fds[2].revents & POLLIN)
        l->is_written = true;
    if (fds[3].revents && !beside_heed(&l->terminal, &l->top->is_away))
        l->is_over = l->is_job_over = true;
    if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) /* the terminal is gone */
        l->is_over = true;
    return fds[1].revents & POLLIN ? read_keys(l) : 0;
}

/* Beside a job: waits until the terminal is ours; in the background it is the shell's. */
static void await_terminal(struct loop *l)
{
    struct pollfd fds[] = {{.fd = l->signal_fd, .events = POLLIN}, {.fd = l->beside_fd, .events = POLLIN}};
    while (!l->is_over && (l->top->is_away || !beside_has_terminal(l->in_fd))) {
        if (poll(fds, 2, (int)(CHECK_NS / NS_PER_MS)) <= 0)
            continue;
        read_signals(l);
        if (fds[1].revents && !beside_heed(NULL, &l->top->is_away))
            l->is_over = true;
    }
}

int top_loop(struct top *t, int in_fd, int beside_fd)
{
    struct loop l = {.top = t, .in_fd = in_fd, .signal_fd = -1, .beside_fd = beside_fd, .is_behind = true};
    int code = take_signals(&l);
    t->shown = &t->feed.newest;
    if (code < 0)
        return cli_failf(t->cli, "can't wait for signals: %s", strerror(-code));
    if (beside_fd >= 0)
        await_terminal(&l);
    if (!l.is_over)
        code = terminal_open(&l.terminal, in_fd, STDOUT_FILENO, t->cli->color, &t->err);
    if (code < 0)
        return cli_fail(t->cli, &t->err);
    t->grid.utf8 = t->cli->utf8;
    while (code >= 0 && !l.is_over)
        code = take_turn(&l);
    bool leaves = code >= 0 && l.is_job_over && !l.terminal.is_suspended;
    terminal_close(&l.terminal);
    fd_close(l.signal_fd);
    if (leaves)
        code = beside_leave(t);
    if (code < 0)
        return cli_fail(t->cli, &t->err);
    if (l.signal && l.signal != SIGINT)
        let_signal(l.signal);
    return 0;
}
