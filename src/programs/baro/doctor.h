/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of baro doctor. Each was tried on this machine. */
#ifndef PROGRAMS_BARO_DOCTOR_H
#define PROGRAMS_BARO_DOCTOR_H

#include <stdbool.h>

enum finding_state { FOUND_YES, FOUND_PARTLY, FOUND_NO, FOUND_FACT };

struct doctor_finding {
    const char *topic, *what; /* constants */
    enum finding_state state;
    char text[400];  /* what it provides, or what prevents it */
    char grant[300]; /* what would enable it; "" if nothing is missing, or nothing would */
};

#define FINDINGS_MAX 320 /* more than there are metrics */

struct findings {
    struct doctor_finding at[FINDINGS_MAX];
    unsigned n;
};

/* grant: dropped if the state is FOUND_YES; NULL: none */
__attribute__((format(printf, 6, 7))) struct doctor_finding *findings_add(struct findings *f, const char *topic,
                                                                          const char *what, enum finding_state state,
                                                                          const char *grant, const char *format, ...);

/* doctor_sources.c: what the collectors read here. Samples are taken by doctor_try(), whose result may be NULL. */
#define OWN_PROCESSES "own processes"
#define TCP "tcp"
#define MACHINE "machine"
#define CONTROL_GROUPS "control groups"

struct tried;
struct tried *doctor_try(void);
void doctor_tried_free(struct tried *t);
void doctor_metrics(struct findings *f, const struct tried *t);                    /* a row for each metric */
void doctor_sources(struct findings *f, const struct tried *t, const char *topic); /* a row for each source */
void doctor_others(struct findings *f, const struct tried *t);                     /* processes of other users */

/* doctor_place.c: what no metric says */
void doctor_place(struct findings *f);   /* kernel, namespaces, user, where runs are kept */
void doctor_sockets(struct findings *f); /* TCP of processes */
void doctor_events(struct findings *f);  /* sources of fork and exit events */
void doctor_machine(struct findings *f); /* sandboxes, GPUs, energy */
/* which limits of control groups bind, and whether a job may have a group of its own */
struct cgroup_hierarchies;
void doctor_cgroup(struct findings *f, const struct cgroup_hierarchies *p, int root_fd);

#endif
