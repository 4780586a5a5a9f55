/* SPDX-License-Identifier: Apache-2.0 */
/* How busy a device was: from the driver's buffers of values; if it has none, from one value for each reading. */
#include "programs/baro-gpu/gpu_helper.h"

#define WINDOW_MOST_US 1000000ull /* a value of utilisation covers a second at most */
#define SAMPLES_MOST 1024u

/* Returns a value of the buffer; UINT64_MAX if it is not valid. */
static uint64_t sample_number(unsigned type, const struct nvml_sample *s)
{
    if (type == NVML_TYPE_DOUBLE)
        return s->value.real >= 0 && s->value.real <= UINT32_MAX ? (uint64_t)s->value.real : UINT64_MAX;
    return type == NVML_TYPE_U64 ? s->value.u64 : s->value.u32;
}

/* Returns the use to be counted now, in percents of microseconds: at most as much as the time since use was counted
 * last. The rest waits for the next reading, because a value covers a part of a second, and the driver may report it
 * late. At most one second waits, because the driver's clock may be too fast. Example: 0.9 and 1.1 s of 100 %, each
 * a second after the reading before, count as 0.9 and 1 s, and 0.1 s wait. */
static uint64_t limit_use(struct stamps *s, uint64_t busy, uint64_t since_us)
{
    uint64_t all = s->waits + busy, most = 100 * (s->lacks_us + since_us), now = all < most ? all : most;
    s->lacks_us = 0;
    s->waits = all - now < 100 * WINDOW_MOST_US ? all - now : 100 * WINDOW_MOST_US;
    return now;
}

bool use_add_buffer(struct gpu_helper *h, struct unit *u, unsigned type, int metric, int peak, uint64_t since_ns)
{
    static struct nvml_sample at[SAMPLES_MOST];
    struct stamps *s = &u->samples[type];
    unsigned n = SAMPLES_MOST, value_type = 0;
    uint64_t busy = 0, most = 0;
    int code = ASK(h, u, samples, u->handle, type, s->last_us, &value_type, &n, at);
    s->was_empty |= code == NVML_NOT_FOUND || (code == NVML_OK && !n);
    if (code != NVML_OK || !n)
        return false;
    /* The first values in the buffer are from before the recording, unless it was empty: a GPU that was idle. */
    bool first = !s->last_us && !s->was_empty, is_new = false;
    for (unsigned i = 0; i < n && i < SAMPLES_MOST; i++) {
        uint64_t v = sample_number(value_type, &at[i]);
        uint64_t from = s->last_us > s->covered_us ? s->last_us : s->covered_us;
        if (at[i].stamp_us <= s->last_us || v > (type == NVML_SAMPLES_POWER ? PLAUSIBLE_WATTS_MOST * 1000 : 100))
            continue;
        is_new = true;
        uint64_t window = at[i].stamp_us > from ? at[i].stamp_us - from : 0;
        if (!s->last_us) /* the first value of all covers as much as the next one */
            window = i + 1 < n && at[i + 1].stamp_us > at[i].stamp_us ? at[i + 1].stamp_us - at[i].stamp_us : 0;
        if (!first)
            busy += v * (window < WINDOW_MOST_US ? window : WINDOW_MOST_US);
        s->last_us = at[i].stamp_us;
        most = first ? v : v > most ? v : most;
    }
    if (!is_new) /* if all values are garbage, the next valid one covers their time as well */
        return false;
    if (metric >= 0)
        unit_grow(u, metric, limit_use(s, busy, since_ns / 1000) * 10);
    if (peak >= 0)
        unit_put_peak(h, u, peak, type == NVML_SAMPLES_POWER ? most * 1000 : most * PPM_PER_PERCENT);
    return true;
}

/* The same from one value per reading, if there is no buffer, or it has nothing new. */
static void add_utilisation(struct unit *u, unsigned type, int metric, int code, unsigned percent, uint64_t since_ns)
{
    struct stamps *s = &u->samples[type];
    if (code != NVML_OK || percent > 100) {
        unit_lack(u, metric, code ? reason_of(code) : BARO_ABSENT_UNKNOWN);
        s->lacks_us += since_ns / 1000;
        return;
    }
    s->lacks_us = 0;
    unit_grow(u, metric, since_ns / 100 * percent);
    if (s->last_us)
        s->covered_us = (s->last_us > s->covered_us ? s->last_us : s->covered_us) + since_ns / 1000;
}

void use_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    struct nvml_utilization now = {0};
    unsigned percent = 0, us;
    int code = ASK(h, u, utilization, u->handle, &now);
    if (!use_add_buffer(h, u, NVML_SAMPLES_GPU, GPU_busy, GPU_busy_peak, since_ns)) {
        add_utilisation(u, NVML_SAMPLES_GPU, GPU_busy, code, now.gpu, since_ns);
        if (code == NVML_OK && now.gpu <= 100)
            unit_put_peak(h, u, GPU_busy_peak, now.gpu * PPM_PER_PERCENT);
        else
            unit_lack(u, GPU_busy_peak, code ? reason_of(code) : BARO_ABSENT_UNKNOWN);
    }
    if (!use_add_buffer(h, u, NVML_SAMPLES_MEMORY, GPU_memory_busy, -1, since_ns))
        add_utilisation(u, NVML_SAMPLES_MEMORY, GPU_memory_busy, code, now.memory, since_ns);
    if (!use_add_buffer(h, u, NVML_SAMPLES_ENCODER, GPU_encoder_busy, -1, since_ns)) {
        code = ASK(h, u, encoder, u->handle, &percent, &us);
        add_utilisation(u, NVML_SAMPLES_ENCODER, GPU_encoder_busy, code, percent, since_ns);
    }
    if (!use_add_buffer(h, u, NVML_SAMPLES_DECODER, GPU_decoder_busy, -1, since_ns)) {
        code = ASK(h, u, decoder, u->handle, &percent, &us);
        add_utilisation(u, NVML_SAMPLES_DECODER, GPU_decoder_busy, code, percent, since_ns);
    }
}
