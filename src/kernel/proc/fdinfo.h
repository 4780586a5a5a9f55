/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/fdinfo/N of a descriptor of a GPU, as far as the kernel's document drm-usage-stats.rst describes it. Pure.
 */
#ifndef KERNEL_PROC_FDINFO_H
#define KERNEL_PROC_FDINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define FDINFO_ENGINES_MOST 24u
#define FDINFO_REGIONS_MOST 16u

enum { FDINFO_NS = 1, FDINFO_CYCLES = 2, FDINFO_TOTAL_CYCLES = 4, FDINFO_MAXFREQ = 8 };
struct fdinfo_engine {
    struct span name;      /* "render", "gfx", "rcs" */
    unsigned valid;        /* bits for ns, cycles, total_cycles, maxfreq */
    uint64_t ns, cycles;   /* busy time of this client */
    uint64_t total_cycles; /* cycles of the engine, whoever used it */
    uint64_t maxfreq;      /* Hz: of drivers that have no total_cycles */
    uint64_t capacity;     /* how many such engines there are; 1 if the file does not say */
};

enum { FDINFO_RESIDENT = 1, FDINFO_TOTAL = 2 };
struct fdinfo_region {
    struct span name; /* "vram", "vram0", "local0", "gtt", "system0", "memory" */
    unsigned valid;
    uint64_t resident, total; /* bytes; resident: also what older kernels call drm-memory- */
};

/* Names are parts of the text. */
struct fdinfo {
    struct span driver; /* required */
    struct span pdev;   /* "0000:03:00.0"; empty: not on PCI */
    uint64_t client;    /* unique on this device, the same for all descriptors of one client */
    bool has_client;
    bool is_truncated; /* it has more engines or regions than there is room for */
    unsigned n_engines, n_regions;
    struct fdinfo_engine engine[FDINFO_ENGINES_MOST];
    struct fdinfo_region region[FDINFO_REGIONS_MOST];
};

/* Returns 0, or BARO_E_SYNTAX if it is no descriptor of a GPU, or of a driver before these keys were agreed upon. */
int fdinfo_parse(struct span text, struct fdinfo *ret);

#endif
