/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that have a daemon or another machine do the work: the job has the client alone. `podman run` is no such
 * client: its containers are below it. */
#include "libbaro/verdict/client.h"

#include <string.h>

#include "libbaro/verdict/verdict_rule.h"

#define CONTAINERS "run|exec|start|build|up"
#define WINDOWS                                                                                                        \
    "new-window|neww|new-session|new|split-window|splitw|respawn-window|respawn-pane|run-shell|send-keys|send"
#define OF_A_GROUP "`baro observe --cgroup` records each container."
#define INSIDE "Begin the command that it passes on with `baro run --`."

static const struct client {
    const char *name;
    const char *words;  /* one of these is an argument; "": any do */
    const char *unless; /* none of these is in the command line */
    const char *server; /* does the work in the job, if it is in the job; "": it can't be */
    const char *of, *advice;
} clients[] = {
    {"docker", CONTAINERS, "", "dockerd", "the Docker daemon", OF_A_GROUP},
    {"nerdctl", CONTAINERS, "", "containerd", "containerd", OF_A_GROUP},
    {"podman-remote", CONTAINERS, "", "", "the Podman service", OF_A_GROUP},
    {"kubectl", "run|exec|apply|create", "", "", "the cluster", INSIDE},
    {"tmux: client", WINDOWS, "", "tmux: server", "the tmux server", INSIDE},
    {"screen", "-X", "", "", "a session that was there before", INSIDE},
    {"systemd-run", "", "", "", "systemd", "With --scope it stays in the job."},
    {"at", "", " -l| -d| -r| -c", "", "the at daemon", INSIDE},
    {"sbatch", "", "", "", "Slurm", INSIDE},
    {"srun", "", "", "slurmstepd", "Slurm", INSIDE}, /* the job may be the control group of a whole job of Slurm */
    {"ssh", "", "git-upload-pack|git-receive-pack|rsync --server|sftp| -N| -W", "", "another machine", INSIDE},
};
#define CLIENTS (sizeof(clients) / sizeof(*clients))

/* Takes the next of several texts with '|' between. */
static bool next_of(const char **list, const char **at, size_t *len)
{
    *at = *list;
    *len = strcspn(*list, "|");
    *list += *len + ((*list)[*len] == '|');
    return *len > 0;
}

static bool has_argument(const char *line, const char *word, size_t n)
{
    for (line += strcspn(line, " "); *line; line += strcspn(line, " ")) {
        line++;
        if (strcspn(line, " ") == n && memcmp(line, word, n) == 0)
            return true;
    }
    return false;
}

static bool fits(const struct client *c, const char *line)
{
    const char *list = c->words, *at;
    bool fits = !*list;
    size_t n;
    while (!fits && next_of(&list, &at, &n))
        fits = has_argument(line, at, n);
    for (list = c->unless; fits && next_of(&list, &at, &n);)
        fits = !memmem(line, strlen(line), at, n);
    return fits;
}

uint32_t client_note(const char *name, const char *cmdline)
{
    uint32_t found = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        found |= (uint32_t)(strcmp(clients[i].name, name) == 0 && fits(&clients[i], cmdline ? cmdline : "")) << i;
    return found;
}

uint32_t client_note_server(const char *name)
{
    uint32_t found = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        found |= (uint32_t)(*name && strcmp(clients[i].server, name) == 0) << i;
    return found;
}

static bool client(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    const struct client *c = clients;
    (void)s;
    if (!e->clients)
        return false;
    c += __builtin_ctz(e->clients);
    find_title(f, "%.*s left work to %s, which is not in this recording.", (int)strcspn(c->name, ":"), c->name, c->of);
    find_advice(f, "%s", c->advice);
    find_brief(f, "%.*s left work to %s, which is not recorded", (int)strcspn(c->name, ":"), c->name, c->of);
    find_text(f, "command", c->name);
    return true;
}

const struct verdict_rule rule_client = {{.name = "client",
                                          .weight = BARO_VERDICT_ADVICE,
                                          .help = "The job executed a client (of containers, tmux, systemd-run, at, "
                                                  "Slurm, ssh) that has others do the work."},
                                         client,
                                         0};
