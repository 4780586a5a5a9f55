/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of baro doctor. Each was tried on this machine. */
#ifndef PROGRAMS_BARO_DOCTOR_H
#define PROGRAMS_BARO_DOCTOR_H

#include <stdint.h>

#include "base/buf.h"

enum finding_state { FOUND_YES, FOUND_PARTLY, FOUND_NO, FOUND_FACT };

struct doctor_finding {
    const char *topic, *what; /* constants */
    enum finding_state state;
    char text[320];  /* what it provides, or what prevents it */
    char grant[200]; /* what would enable it; "" if nothing is missing, or nothing would */
};

#define FINDINGS_MAX 320 /* more than there are metrics */

struct findings {
    struct doctor_finding at[FINDINGS_MAX];
    unsigned n;
};

__attribute__((format(printf, 5, 6))) struct doctor_finding *findings_add(struct findings *f, const char *topic,
                                                                          const char *what, enum finding_state state,
                                                                          const char *format, ...);
__attribute__((format(printf, 2, 3))) void finding_grant(struct doctor_finding *f, const char *format, ...);

void doctor_place(struct findings *f);     /* kernel, namespaces, user, where runs are kept */
void doctor_processes(struct findings *f); /* files of own and of others' processes */
void doctor_sockets(struct findings *f);   /* TCP of processes */
void doctor_events(struct findings *f);    /* sources of fork and exit events */
void doctor_machine(struct findings *f);   /* files about the machine */
void doctor_metrics(struct findings *f);   /* each metric that a collector serves */
/* control groups: their values, which limits bind, and whether a job may have one */
void doctor_cgroup(struct findings *f);

#endif
