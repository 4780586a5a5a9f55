/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 that does what a script says, for tests of baro-gpu. FAKE_NVML names the script, which is read
 * again when it has changed. A line is one of
 *
 *   devices N                           how many there are
 *   driver TEXT
 *   [@SECONDS] DEVICE KEY VALUE         since so many seconds after the first nvmlInit (0) a device has this value
 *   [@SECONDS] DEVICE proc PID KEY VALUE   PID may be a file that has it
 *   [@SECONDS] error FUNCTION CODE [DEVICE]   this function fails
 *   [@SECONDS] hang FUNCTION [DEVICE]   it does not return
 *   [@SECONDS] slow FUNCTION MS [DEVICE]   it takes so long, until another such line is for it
 *   [@SECONDS] crash FUNCTION SIGNAL [DEVICE]   this signal ends the process
 *   [@SECONDS] fork FUNCTION SECONDS [DEVICE]   it begins a process that lasts so long
 *   layout 32                           processes are in structs of 32 bytes, as of driver 535
 *   junk                                lists of what processes used have rubbish as well
 *
 * A device is a number, or P.I for instance I of P. FAKE_NVML_CALLS, if set, gets a line for each call.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "programs/baro-gpu/nvml.h"

#define LINES 4096
#define STEP_US 166666u /* of the buffers */
#define SUMS 4096       /* counters of all devices: the last one is nobody's */
#define STEP 0.01       /* seconds, of sums over time */

static struct line {
    double from;
    char device[16], what[24], key[64], value[160];
    int pid;
} line[LINES];
static int n_lines, n_devices, has_junk;
static struct timespec changed;
static double first;
static char driver_text[80] = "550.54.15";
static struct fake {
    char id[16];
} handles[64 + 64 * 8];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double s = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
    if (!first)
        first = s;
    return s - first;
}

static int pid_of(const char *text)
{
    char buf[32] = "";
    int pid = atoi(text);
    FILE *f = pid ? NULL : fopen(text, "r");
    if (f && fgets(buf, sizeof(buf), f))
        pid = atoi(buf);
    if (f)
        fclose(f);
    return pid;
}

static void parse(char *text)
{
    struct line l = {0};
    char *save, *word = strtok_r(text, " \n", &save);
    if (!word || *word == '#' || n_lines == LINES)
        return;
    if (*word == '@') {
        l.from = atof(word + 1);
        word = strtok_r(NULL, " \n", &save);
    }
    char *rest = save;
    if (strcmp(word, "devices") == 0) {
        n_devices = atoi(rest);
    } else if (strcmp(word, "driver") == 0) {
        snprintf(driver_text, sizeof(driver_text), "%.*s", (int)strcspn(rest, "\n"), rest);
    } else if (strcmp(word, "junk") == 0) {
        has_junk = 1;
    } else if (strcmp(word, "error") == 0 || strcmp(word, "hang") == 0 || strcmp(word, "slow") == 0 ||
               strcmp(word, "crash") == 0 || strcmp(word, "fork") == 0) {
        snprintf(l.what, sizeof(l.what), "%s", word);
        char *function = strtok_r(NULL, " \n", &save);
        char *code = *word != 'h' ? strtok_r(NULL, " \n", &save) : "0", *device = strtok_r(NULL, " \n", &save);
        snprintf(l.key, sizeof(l.key), "%s", function);
        snprintf(l.value, sizeof(l.value), "%s", code);
        snprintf(l.device, sizeof(l.device), "%s", device ? device : "");
        line[n_lines++] = l;
    } else if (strcmp(word, "layout") != 0) {
        snprintf(l.device, sizeof(l.device), "%s", word);
        char *key = strtok_r(NULL, " \n", &save);
        if (key && strcmp(key, "proc") == 0) {
            l.pid = pid_of(strtok_r(NULL, " \n", &save));
            if (!l.pid)
                return;
            key = strtok_r(NULL, " \n", &save);
        }
        snprintf(l.key, sizeof(l.key), "%s", key ? key : "");
        snprintf(l.value, sizeof(l.value), "%.*s", (int)strcspn(save, "\n"), save);
        line[n_lines++] = l;
    }
}

static void script(void)
{
    const char *path = getenv("FAKE_NVML");
    struct stat st;
    char text[512];
    FILE *f;
    if (!path || stat(path, &st) < 0 || memcmp(&st.st_mtim, &changed, sizeof(changed)) == 0 || !(f = fopen(path, "r")))
        return;
    changed = st.st_mtim;
    n_lines = has_junk = 0;
    while (fgets(text, sizeof(text), f))
        parse(text);
    fclose(f);
}

static const char *id_of(nvml_device d)
{
    return d ? ((struct fake *)d)->id : "";
}

static nvml_device handle_of(const char *id)
{
    for (size_t i = 0; i < sizeof(handles) / sizeof(*handles); i++) {
        if (!*handles[i].id)
            snprintf(handles[i].id, sizeof(handles[i].id), "%s", id);
        if (strcmp(handles[i].id, id) == 0)
            return (nvml_device)&handles[i];
    }
    return NULL;
}

/* Each function begins with this. Returns the code with which it is to fail. */
static int enter(const char *function, nvml_device d)
{
    const char *calls = getenv("FAKE_NVML_CALLS");
    script();
    if (calls) {
        int fd = open(calls, O_WRONLY | O_APPEND | O_CREAT, 0666);
        dprintf(fd, "%.3f %s %s\n", now(), function, id_of(d));
        close(fd);
    }
    int slow_ms = 0;
    for (int i = 0; i < n_lines; i++) {
        const struct line *l = &line[i];
        if (!*l->what || l->from > now() || (strcmp(l->key, function) != 0 && strcmp(l->key, "*") != 0) ||
            (*l->device && strcmp(l->device, id_of(d)) != 0))
            continue;
        while (*l->what == 'h')
            pause();
        if (*l->what == 'e')
            return atoi(l->value);
        if (*l->what == 'c')
            raise(atoi(l->value));
        if (*l->what == 'f' && fork() == 0)
            _exit((int)sleep((unsigned)atoi(l->value)));
        slow_ms = *l->what == 's' ? atoi(l->value) : slow_ms;
    }
    usleep((unsigned)slow_ms * 1000);
    return 0;
}

/* The value at a time; NULL: there is none. */
static const char *text_at(const char *id, int pid, const char *key, double t)
{
    const char *found = NULL;
    double from = -1;
    for (int i = 0; i < n_lines; i++) {
        const struct line *l = &line[i];
        if (!*l->what && l->pid == pid && l->from <= t && l->from >= from && strcmp(l->device, id) == 0 &&
            strcmp(l->key, key) == 0) {
            found = l->value;
            from = l->from;
        }
    }
    return found;
}

static int value(nvml_device d, const char *key, double *ret)
{
    const char *text = text_at(id_of(d), 0, key, now());
    if (!text)
        return NVML_NOT_SUPPORTED;
    *ret = atof(text);
    return 0;
}

/* The value over time since the start. Each sum goes on from where it was: a recording of hours would take a core. The
 * past is what the script said then. */
static double integral(const char *id, int pid, const char *key, double to)
{
    static struct sum {
        char id[16], key[24];
        int pid;
        double at, v;
    } sums[SUMS];
    size_t i = 0;
    while (i < SUMS - 1 && *sums[i].key &&
           (strcmp(sums[i].id, id) != 0 || strcmp(sums[i].key, key) != 0 || sums[i].pid != pid))
        i++;
    struct sum *s = &sums[i];
    snprintf(s->id, sizeof(s->id), "%s", id);
    snprintf(s->key, sizeof(s->key), "%s", key);
    s->pid = pid;
    for (; s->at + STEP <= to; s->at += STEP) {
        const char *text = text_at(id, pid, key, s->at);
        s->v += text ? atof(text) * STEP : 0;
    }
    const char *text = text_at(id, pid, key, s->at);
    return s->v + (text ? atof(text) * (to - s->at) : 0);
}

#define BEGIN(function, d)                                                                                             \
    do {                                                                                                               \
        int begin_code = enter(function, d);                                                                           \
        if (begin_code)                                                                                                \
            return begin_code;                                                                                         \
    } while (0)
#define API __attribute__((visibility("default")))

API int nvmlInit_v2(void)
{
    now();
    BEGIN("nvmlInit_v2", NULL);
    return 0;
}

static int put_text(const char *text, char *ret, unsigned n)
{
    if (!text)
        return NVML_NOT_SUPPORTED;
    snprintf(ret, n, "%s", text);
    return 0;
}

API int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
    BEGIN("nvmlSystemGetDriverVersion", NULL);
    return put_text(driver_text, text, n);
}

API int nvmlDeviceGetCount_v2(unsigned *n)
{
    BEGIN("nvmlDeviceGetCount_v2", NULL);
    *n = (unsigned)n_devices;
    return 0;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned i, nvml_device *d)
{
    char id[16];
    snprintf(id, sizeof(id), "%u", i);
    BEGIN("nvmlDeviceGetHandleByIndex_v2", handle_of(id));
    *d = handle_of(id);
    return 0;
}

API int nvmlDeviceGetName(nvml_device d, char *text, unsigned n)
{
    BEGIN("nvmlDeviceGetName", d);
    return put_text(text_at(id_of(d), 0, "name", now()), text, n);
}

API int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned n)
{
    BEGIN("nvmlDeviceGetUUID", d);
    return put_text(text_at(id_of(d), 0, "uuid", now()), text, n);
}

API int nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *p)
{
    BEGIN("nvmlDeviceGetPciInfo_v3", d);
    return put_text(text_at(id_of(d), 0, "bus", now()), p->id, sizeof(p->id));
}

API int nvmlDeviceGetUtilizationRates(nvml_device d, struct nvml_utilization *u)
{
    double gpu, memory = 0;
    BEGIN("nvmlDeviceGetUtilizationRates", d);
    if (value(d, "util", &gpu))
        return NVML_NOT_SUPPORTED;
    value(d, "memutil", &memory);
    *u = (struct nvml_utilization){(unsigned)gpu, (unsigned)memory};
    return 0;
}

API int nvmlDeviceGetMemoryInfo_v2(nvml_device d, struct nvml_memory_v2 *m)
{
    double total, used = 0, reserved = 0;
    BEGIN("nvmlDeviceGetMemoryInfo_v2", d);
    if (m->version != (sizeof(*m) | 2u << 24))
        return NVML_ARGUMENT_VERSION;
    if (value(d, "total", &total))
        return NVML_NOT_SUPPORTED;
    value(d, "used", &used);
    value(d, "reserved", &reserved);
    m->total = (uint64_t)total;
    m->used = (uint64_t)used;
    m->reserved = (uint64_t)reserved;
    m->free = m->total - m->used - m->reserved;
    return 0;
}

API int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory_v1 *m)
{
    double total, used = 0, reserved = 0;
    BEGIN("nvmlDeviceGetMemoryInfo", d);
    if (value(d, "total", &total))
        return NVML_NOT_SUPPORTED;
    value(d, "used", &used);
    value(d, "reserved", &reserved);
    *m = (struct nvml_memory_v1){(uint64_t)total, (uint64_t)(total - used - reserved), (uint64_t)(used + reserved)};
    return 0;
}

#define NUMBER(function, type, key, factor)                                                                            \
    API int function(nvml_device d, type *v)                                                                           \
    {                                                                                                                  \
        double x;                                                                                                      \
        BEGIN(#function, d);                                                                                           \
        if (value(d, key, &x))                                                                                         \
            return NVML_NOT_SUPPORTED;                                                                                 \
        *v = (type)(x * (factor));                                                                                     \
        return 0;                                                                                                      \
    }
NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power", 1000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "limit", 1000)
NUMBER(nvmlDeviceGetFanSpeed, unsigned, "fan", 1)
NUMBER(nvmlDeviceGetPerformanceState, unsigned, "pstate", 1)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pciegen", 1)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pciewidth", 1)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "reasons", 1)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "reasons", 1)
NUMBER(nvmlDeviceGetAccountingMode, unsigned, "accounting", 1)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned, "mig", 1)
NUMBER(nvmlDeviceGetGpuInstanceId, unsigned, "instance", 1)

API int nvmlDeviceGetTotalEnergyConsumption(nvml_device d, unsigned long long *mj)
{
    double offset;
    BEGIN("nvmlDeviceGetTotalEnergyConsumption", d);
    if (value(d, "energy", &offset)) /* joules that it had used before */
        return NVML_NOT_SUPPORTED;
    *mj = (unsigned long long)((offset + integral(id_of(d), 0, "power", now())) * 1000);
    return 0;
}

API int nvmlDeviceGetTemperature(nvml_device d, unsigned sensor, unsigned *c)
{
    double x;
    (void)sensor;
    BEGIN("nvmlDeviceGetTemperature", d);
    if (value(d, "temp", &x))
        return NVML_NOT_SUPPORTED;
    *c = (unsigned)x;
    return 0;
}

static int clock_of(nvml_device d, unsigned which, const char *sm, const char *memory, unsigned *mhz)
{
    double x;
    if (value(d, which == NVML_CLOCK_MEMORY ? memory : sm, &x))
        return NVML_NOT_SUPPORTED;
    *mhz = (unsigned)x;
    return 0;
}

API int nvmlDeviceGetClockInfo(nvml_device d, unsigned which, unsigned *mhz)
{
    BEGIN("nvmlDeviceGetClockInfo", d);
    return clock_of(d, which, "sm", "mem", mhz);
}

API int nvmlDeviceGetMaxClockInfo(nvml_device d, unsigned which, unsigned *mhz)
{
    BEGIN("nvmlDeviceGetMaxClockInfo", d);
    return clock_of(d, which, "smmax", "memmax", mhz);
}

static int coder(nvml_device d, const char *key, unsigned *percent, unsigned *us)
{
    double x;
    if (value(d, key, &x))
        return NVML_NOT_SUPPORTED;
    *percent = (unsigned)x;
    *us = 167000;
    return 0;
}

API int nvmlDeviceGetEncoderUtilization(nvml_device d, unsigned *percent, unsigned *us)
{
    BEGIN("nvmlDeviceGetEncoderUtilization", d);
    return coder(d, "enc", percent, us);
}

API int nvmlDeviceGetDecoderUtilization(nvml_device d, unsigned *percent, unsigned *us)
{
    BEGIN("nvmlDeviceGetDecoderUtilization", d);
    return coder(d, "dec", percent, us);
}

/* Counters are the integral of a key over time. */
API int nvmlDeviceGetFieldValues(nvml_device d, int n, struct nvml_field *f)
{
    static const struct {
        unsigned id;
        const char *key;
        double rate; /* 0: a gauge */
    } keys[] = {{82, "memtemp", 0}, {308, "fieldtemp", 0},    {3, "ecc", 0},           {4, "ecc2", 0},
                {94, "replays", 0}, {143, "remapped", 0},     {74, "pviol", 1e9},      {75, "tviol", 1e9},
                {76, "sviol", 1e9}, {77, "bviol", 1e9},       {79, "rviol", 1e9},      {197, "pcietx", 1},
                {198, "pcierx", 1}, {138, "nvtx", 1 / 1024.}, {139, "nvrx", 1 / 1024.}};
    double type = 0;
    BEGIN("nvmlDeviceGetFieldValues", d);
    value(d, "fieldtype", &type); /* enum of nvml.h; without it they are U64 */
    for (int i = 0; i < n; i++) {
        f[i].code = NVML_NOT_SUPPORTED;
        for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
            double x;
            if (f[i].id != keys[k].id || value(d, keys[k].key, &x))
                continue;
            x = keys[k].rate ? integral(id_of(d), 0, keys[k].key, now()) * keys[k].rate : x;
            f[i].code = NVML_OK;
            f[i].type = text_at(id_of(d), 0, "fieldtype", now()) ? (unsigned)type : NVML_TYPE_U64;
            if (f[i].type == NVML_TYPE_DOUBLE)
                f[i].value.real = x;
            else if (f[i].type == NVML_TYPE_S64)
                f[i].value.s64 = (int64_t)x;
            else
                f[i].value.u64 = (uint64_t)x;
        }
    }
    return 0;
}

API int nvmlDeviceGetSamples(nvml_device d, unsigned type, unsigned long long since, unsigned *value_type, unsigned *n,
                             struct nvml_sample *at)
{
    static const char *const keys[] = {"power", "util", "memutil", "enc", "dec"};
    unsigned room = *n;
    BEGIN("nvmlDeviceGetSamples", d);
    if (text_at(id_of(d), 0, "buffer", now()) || type > 4)
        return NVML_NOT_SUPPORTED;
    *n = 0;
    *value_type = NVML_TYPE_U32;
    uint64_t to = (uint64_t)(now() * 1e6), k = since / STEP_US + 1;
    k = to / STEP_US > 100 && k < to / STEP_US - 100 ? to / STEP_US - 100 : k;
    for (; k * STEP_US <= to && *n < room; k++) {
        const char *text = text_at(id_of(d), 0, keys[type], (double)(k * STEP_US) / 1e6 - 0.08);
        if (!text)
            continue;
        at[*n].stamp_us = k * STEP_US;
        at[(*n)++].value.u32 = (unsigned)(atof(text) * (type ? 1 : 1000));
    }
    return *n ? 0 : NVML_NOT_FOUND;
}

static int processes(nvml_device d, const char *list, unsigned *n, void *at)
{
    unsigned room = *n, found = 0;
    int seen[LINES];
    for (int i = 0; i < n_lines; i++) {
        const struct line *l = &line[i];
        if (!l->pid || l->from > now() || strcmp(l->device, id_of(d)) != 0)
            continue;
        unsigned k = 0;
        while (k < found && seen[k] != l->pid)
            k++;
        const char *memory = text_at(l->device, l->pid, list, now());
        if (k < found || !memory || strcmp(memory, "end") == 0)
            continue;
        seen[found++] = l->pid;
        if (found > room)
            continue;
        struct nvml_process_32 p = {.pid = (unsigned)l->pid, .memory = (uint64_t)atof(memory)};
        if (strcmp(memory, "unknown") == 0)
            p.memory = UINT64_MAX;
#ifdef LAYOUT_32
        memcpy((char *)at + (found - 1) * sizeof(p), &p, sizeof(p));
#else
        memcpy((char *)at + (found - 1) * sizeof(struct nvml_process_24), &p, sizeof(struct nvml_process_24));
#endif
    }
    *n = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : 0;
}

API int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *n, void *at)
{
    BEGIN("nvmlDeviceGetComputeRunningProcesses_v3", d);
    return processes(d, "memory", n, at);
}

API int nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device d, unsigned *n, void *at)
{
    BEGIN("nvmlDeviceGetGraphicsRunningProcesses_v3", d);
    return processes(d, "graphics", n, at);
}

API int nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml_device d, unsigned *n, void *at)
{
    BEGIN("nvmlDeviceGetMPSComputeRunningProcesses_v3", d);
    return processes(d, "mps", n, at);
}

API int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_use *at, unsigned *n,
                                        unsigned long long since)
{
    unsigned room = *n, found = 0;
    uint64_t to = (uint64_t)(now() * 1e6);
    (void)since;
    BEGIN("nvmlDeviceGetProcessUtilization", d);
    for (int i = 0; i < n_lines && found < room; i++) {
        const struct line *l = &line[i];
        const char *sm = l->pid ? text_at(l->device, l->pid, "sm", now()) : NULL;
        unsigned k = 0;
        while (k < found && at[k].pid != (unsigned)l->pid)
            k++;
        if (k < found || !sm || strcmp(l->device, id_of(d)) != 0 || atoi(sm) == 0)
            continue;
        at[found++] = (struct nvml_process_use){.pid = (unsigned)l->pid, .stamp_us = to, .sm = (unsigned)atoi(sm)};
    }
    for (unsigned i = 0; has_junk && i < 20 && found < room; i++)
        at[found++] =
            (struct nvml_process_use){.pid = i % 2 ? 99999 + i : at[0].pid, .stamp_us = to, .sm = 4000000000u};
    *n = found;
    return found ? 0 : NVML_NOT_FOUND;
}

API int nvmlDeviceGetAccountingStats(nvml_device d, unsigned pid, struct nvml_accounting *a)
{
    BEGIN("nvmlDeviceGetAccountingStats", d);
    const char *most = text_at(id_of(d), (int)pid, "most", now()), *ms = text_at(id_of(d), (int)pid, "ms", now());
    if (!most)
        return NVML_NOT_FOUND;
    *a = (struct nvml_accounting){.gpu = 77, .memory = 11, .memory_most = (uint64_t)atof(most)};
    a->time_ms = ms ? (uint64_t)atof(ms) : 0;
    return 0;
}

API int nvmlDeviceGetMigMode(nvml_device d, unsigned *is, unsigned *pending)
{
    double x = 0;
    BEGIN("nvmlDeviceGetMigMode", d);
    *is = *pending = value(d, "mig", &x) == 0 && x > 0;
    return 0;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned i, nvml_device *mig)
{
    char id[40];
    snprintf(id, sizeof(id), "%.20s.%u", id_of(d), i);
    id[15] = 0;
    BEGIN("nvmlDeviceGetMigDeviceHandleByIndex", d);
    if (!text_at(id, 0, "uuid", now()))
        return NVML_NOT_FOUND;
    *mig = handle_of(id);
    return 0;
}

/* An Xid of the script is reported once. */
API int nvmlEventSetCreate(nvml_event_set *s)
{
    BEGIN("nvmlEventSetCreate", NULL);
    *s = (nvml_event_set)handles;
    return 0;
}

API int nvmlDeviceGetSupportedEventTypes(nvml_device d, unsigned long long *types)
{
    BEGIN("nvmlDeviceGetSupportedEventTypes", d);
    *types = 0x1b;
    return 0;
}

API int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_event_set s)
{
    (void)types;
    (void)s;
    BEGIN("nvmlDeviceRegisterEvents", d);
    return 0;
}

API int nvmlEventSetWait_v2(nvml_event_set s, struct nvml_event *e, unsigned ms)
{
    static int reported[LINES];
    (void)s;
    (void)ms;
    BEGIN("nvmlEventSetWait_v2", NULL);
    for (int i = 0; i < n_lines; i++) {
        if (strcmp(line[i].key, "xid") != 0 || line[i].from > now() || reported[i])
            continue;
        reported[i] = 1;
        *e = (struct nvml_event){.device = handle_of(line[i].device), .type = 8, .data = (uint64_t)atoi(line[i].value)};
        return 0;
    }
    return NVML_TIMEOUT;
}

API int nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *s)
{
    BEGIN("nvmlGpmQueryDeviceSupport", d);
    s->is_supported = text_at(id_of(d), 0, "smactive", now()) != NULL;
    return 0;
}

struct gpm {
    char id[16];
    double t, value[4];
};
static const char *const gpm_keys[] = {"smactive", "smoccupancy", "tensor", "dram"};

API int nvmlGpmSampleAlloc(nvml_gpm_sample *s)
{
    BEGIN("nvmlGpmSampleAlloc", NULL);
    *s = (nvml_gpm_sample)calloc(1, sizeof(struct gpm));
    return 0;
}

API int nvmlGpmSampleGet(nvml_device d, nvml_gpm_sample s)
{
    struct gpm *g = (struct gpm *)s;
    BEGIN("nvmlGpmSampleGet", d);
    g->t = now();
    for (int i = 0; i < 4; i++)
        g->value[i] = integral(id_of(d), 0, gpm_keys[i], g->t);
    return 0;
}

API int nvmlGpmMetricsGet(struct nvml_gpm_get *get)
{
    const struct gpm *a = (struct gpm *)get->first, *b = (struct gpm *)get->second;
    BEGIN("nvmlGpmMetricsGet", NULL);
    if (get->version != 1)
        return NVML_ARGUMENT_VERSION;
    for (unsigned i = 0; i < get->n; i++) {
        unsigned id = get->metric[i].id, k = id == 2 ? 0 : id == 3 ? 1 : id == 5 ? 2 : 3;
        get->metric[i].code = NVML_OK;
        get->metric[i].value = (b->value[k] - a->value[k]) / (b->t - a->t);
    }
    return 0;
}

#ifdef LAYOUT_32
API int nvmlDeviceGetConfComputeMemSizeInfo(nvml_device d, void *at)
{
    (void)d;
    (void)at;
    return NVML_NOT_SUPPORTED;
}
#else
API int nvmlDeviceGetRunningProcessDetailList(nvml_device d, void *at)
{
    (void)d;
    (void)at;
    return NVML_NOT_SUPPORTED;
}
#endif
