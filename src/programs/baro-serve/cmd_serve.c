/* SPDX-License-Identifier: Apache-2.0 */
/* baro serve: reads the options, and serves until a signal ends it. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "programs/baro-serve/server.h"
#include "programs/common/cli.h"

#define CLIENTS 256u
#define CHECK_MS 250
#define END_S 5
#define UNSENT_BYTES 64000000u
#define MAPPED_BYTES                                                                                                   \
    131072 /* what is larger is a mapping of its own, which goes back to the kernel when it is freed                   \
            */
#define ARENAS 2

/* Sends a state to the service manager, if there is one (sd_notify(3)). */
static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(to.sun_path))
        return;
    memcpy(to.sun_path, path, strlen(path));
    to.sun_path[0] = *path == '@' ? 0 : '/';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    fd_close(fd);
}

static int open_listeners(struct server *s, struct baro_error *err)
{
    const struct serve_settings *settings = s->settings;
    int code = 0;
    if (!settings->n_listen)
        code = listen_open(LISTEN_DEFAULT, &s->listener[s->n_listeners++], err);
    for (int i = 0; i < settings->n_listen && code == 0; i++)
        code = listen_open(settings->listen[i], &s->listener[s->n_listeners++], err);
    for (int i = 0; i < s->n_listeners && code == 0; i++) {
        if (!s->listener[i].is_local && !settings->token_file)
            code = error_set(err, BARO_E_RANGE,
                             "%s can be reached from other machines: --token-file FILE asks clients for a token",
                             s->listener[i].url);
    }
    return code;
}

/* Blocks signals. Call it before threads are started, which inherit the mask. */
static int block_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
        return -errno;
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static void wait_for_end(struct server *s, int signals)
{
    struct pollfd fds[] = {
        {.fd = signals, .events = POLLIN}, {.fd = s->clients.wake_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    uint64_t any;
    size_t n = 0;
    while (!(fds[0].revents & POLLIN)) {
        int ms = observing_turn(&s->observing);
        fds[2].fd = s->observing.pid_fd;
        poll(fds, 3, n && (ms < 0 || ms > CHECK_MS) ? CHECK_MS : ms);
        if (read(s->clients.wake_fd, &any, sizeof(any)) < 0 && errno != EAGAIN)
            return;
        n = clients_check(&s->clients);
    }
}

/* Makes glibc return the memory of large answers to the kernel. By default it raises its threshold for mappings
 * whenever one is freed, and has an arena for each thread, so that memory stays in the process. */
static void return_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    mallopt(M_TRIM_THRESHOLD, MAPPED_BYTES);
    mallopt(M_ARENA_MAX, ARENAS);
}

static void announce(const struct cli *cli, const struct server *s)
{
    for (int i = 0; i < s->n_listeners; i++)
        printf("%s\n", s->listener[i].url);
    fflush(stdout);
    cli_note(cli, "serving the tapes in %s; Ctrl-C ends it", catalogue_folder(s->catalogue));
    notify("READY=1");
}

/* Chooses which announced runs are listed. Without a token every user of the machine can connect to a TCP address, so
 * tapes of other users are listed only with a token. */
static enum catalogue_announced announced(const struct server *s, const char *folder)
{
    bool guarded = true;
    if (folder && !s->settings->observes && !s->settings->announced)
        return ANNOUNCED_NONE;
    for (int i = 0; i < s->n_listeners; i++)
        guarded &= s->settings->token_file || s->listener[i].path[0];
    return guarded ? ANNOUNCED_ALL : ANNOUNCED_OWN;
}

static void end_now(int number)
{
    (void)number;
    _exit(0);
}

/* Ends the process even if a thread waits for a file system. */
static void end_at_last(struct server *s)
{
    for (int i = 0; i < s->n_listeners; i++)
        listen_close(&s->listener[i]);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = end_now}, NULL);
    alarm(END_S);
}

static int serve(struct cli *cli, struct server *s, const char *folder)
{
    struct baro_error err = BARO_ERROR_INIT;
    return_memory();
    fd_raise_limit(); /* each connection has a descriptor, each tape that is being read one or two */
    /* If the file system of the folder hangs here, a signal ends the process: there is nothing to clean up yet. */
    if (catalogue_open(&s->catalogue, folder, &err) < 0)
        return cli_fail(cli, &err);
    int signals = block_signals();
    int code = signals < 0 ? error_set(&err, signals, "can't wait for signals: %s", strerror(-signals)) : 0;
    if (code == 0)
        code = guard_init(&s->guard, s->settings->token_file, &err);
    if (code == 0)
        code = open_listeners(s, &err);
    if (code == 0 && (code = clients_init(&s->clients, s->settings->clients ? s->settings->clients : CLIENTS,
                                          s->settings->unsent_bytes ? s->settings->unsent_bytes : UNSENT_BYTES)) < 0)
        error_set(&err, code, "can't watch connections: %s", strerror(-code));
    if (code == 0)
        code = catalogue_start(s->catalogue, announced(s, folder), &err);
    if (code == 0)
        code = observing_init(&s->observing, cli, folder, s->settings, &err);
    if (code == 0)
        code = live_start(&s->live, s->catalogue, &err);
    if (code == 0 && (code = server_start(s, &err)) == 0) {
        announce(cli, s);
        wait_for_end(s, signals);
        notify("STOPPING=1");
        observing_stop(&s->observing);
        end_at_last(s);
    }
    if (s->live) {
        server_stop(s);
        live_free(s->live);
    }
    if (s->catalogue)
        catalogue_stop(s->catalogue);
    observing_done(&s->observing);
    clients_done(&s->clients);
    for (int i = 0; i < s->n_listeners; i++)
        listen_close(&s->listener[i]);
    fd_close(signals);
    return code < 0 ? cli_fail(cli, &err) : 0;
}

int cmd_serve(struct cli *cli, const struct settings *settings, char **argv)
{
    const struct serve_settings *options = &settings->serve;
    char folder[PATH_MAX];
    if (options->observes && !argv[0]) /* --total removes tapes from it */
        return cli_failf(cli, "--cgroup and --tasks: name the folder of the tapes, which is then served: "
                              "baro serve --cgroup PATTERN DIR");
    if (options->n_observe && !options->observes)
        return cli_failf(cli, "%s applies to --cgroup PATTERN or --tasks DIR, and neither is given",
                         options->observe[0]);
    if (options->observes && mkdir(argv[0], 0700) < 0 && errno != EEXIST)
        return cli_failf(cli, "can't make %s: %s", argv[0], strerror(errno));
    if (argv[0] && !realpath(argv[0], folder))
        return cli_failf(cli, "can't serve %s: %s", argv[0], strerror(errno));
    struct server *s = calloc(1, sizeof(*s));
    if (!s)
        return cli_failf(cli, "out of memory");
    s->settings = options;
    s->guard.hosts = options->hosts;
    s->guard.n_hosts = (size_t)options->n_hosts;
    int status = serve(cli, s, argv[0] ? folder : NULL);
    free(s);
    return status;
}
