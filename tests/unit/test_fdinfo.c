/* SPDX-License-Identifier: Apache-2.0 */
/* fdinfo of GPUs: values by hand from the fixtures, whatever the driver calls its engines and regions. */
#include "unit.h"
#include "base/fd.h"
#include "kernel/proc/fdinfo.h"

static char text[8192];

static struct span fixture(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/gpus/fdinfo/%s", getenv("BARO_FIXTURES"), name);
    ssize_t n = fd_read_file(-1, path, text, sizeof(text));
    assert_true(n > 0);
    return span_of(text, (size_t)n);
}

static const struct fdinfo_engine *engine(const struct fdinfo *f, const char *name)
{
    for (unsigned i = 0; i < f->n_engines; i++) {
        if (span_equal(f->engine[i].name, name))
            return &f->engine[i];
    }
    fail_msg("no engine %s", name);
    return NULL;
}

static const struct fdinfo_region *region(const struct fdinfo *f, const char *name)
{
    for (unsigned i = 0; i < f->n_regions; i++) {
        if (span_equal(f->region[i].name, name))
            return &f->region[i];
    }
    fail_msg("no region %s", name);
    return NULL;
}

/* Of boards and NPUs: none is on PCI but the NPU. */
static void others(struct fdinfo *f)
{
    assert_int_equal(fdinfo_parse(fixture("etnaviv-6.14"), f), 0);
    assert_true(span_equal(f->driver, "etnaviv") && f->client == 3 && f->n_engines == 0); /* it measures no times */
    assert_true(region(f, "memory")->total == 12 << 20 && region(f, "memory")->resident == 11 << 20);

    assert_int_equal(fdinfo_parse(fixture("v3d-6.12"), f), 0);
    assert_int_equal(f->n_engines, 6); /* a blank before the tab; v3d-jobs-... are no times */
    assert_true(engine(f, "render")->ns == 81250999 && engine(f, "cache_clean")->ns == 900);
    assert_int_equal(region(f, "memory")->resident, 33 << 20);

    assert_int_equal(fdinfo_parse(fixture("panfrost-6.7"), f), 0);
    assert_int_equal(engine(f, "fragment")->valid, FDINFO_NS | FDINFO_CYCLES | FDINFO_MAXFREQ);
    assert_true(engine(f, "vertex-tiler")->ns == 71932239 && engine(f, "fragment")->maxfreq == 799999987);
    assert_int_equal(region(f, "memory")->resident, 36496 * 1024);
    assert_int_equal(fdinfo_parse(fixture("panfrost-6.10-off"), f), 0); /* times are measured if somebody wants it */
    assert_true(f->n_engines == 2 && engine(f, "fragment")->valid == FDINFO_MAXFREQ);
    assert_int_equal(region(f, "memory")->total, 290 << 20);

    assert_int_equal(fdinfo_parse(fixture("msm-6.6"), f), 0);
    assert_true(engine(f, "gpu")->ns == 3000000 && engine(f, "gpu")->maxfreq == 800000000);
    assert_int_equal(region(f, "memory")->resident, 64 << 20);

    assert_int_equal(fdinfo_parse(fixture("xdna-6.14"), f), 0);
    assert_true(span_equal(f->pdev, "0000:c5:00.1") && engine(f, "npu-amdxdna")->valid == FDINFO_NS);
}

TEST(drivers)
{
    static struct fdinfo f;
    assert_int_equal(fdinfo_parse(fixture("i915-6.1"), &f), 0);
    assert_true(span_equal(f.driver, "i915") && span_equal(f.pdev, "0000:00:02.0") && f.has_client && f.client == 7);
    assert_int_equal(f.n_engines, 4);
    assert_int_equal(f.n_regions, 0);
    assert_true(engine(&f, "render")->ns == 9288864723 && engine(&f, "video")->capacity == 2);
    assert_int_equal(engine(&f, "render")->capacity, 1);
    assert_int_equal(engine(&f, "video")->valid, FDINFO_NS);

    assert_gives(fdinfo_parse(fixture("xe-6.11"), &f), f.n_engines, 5);
    assert_int_equal(engine(&f, "rcs")->valid, FDINFO_CYCLES | FDINFO_TOTAL_CYCLES);
    assert_true(engine(&f, "rcs")->cycles == 28257900 && engine(&f, "rcs")->total_cycles == 7655183225);
    assert_int_equal(engine(&f, "ccs")->capacity, 4);
    assert_true(region(&f, "vram0")->total == 23992 * 1024 && region(&f, "gtt")->resident == 192 * 1024);

    assert_int_equal(fdinfo_parse(fixture("amdgpu-5.19"), &f), 0);
    assert_true(f.client == 217 && region(&f, "vram")->resident == 2068 * 1024);
    assert_int_equal(region(&f, "gtt")->resident, 8192 * 1024);
    assert_true(engine(&f, "gfx")->ns == 107322799);

    assert_gives(fdinfo_parse(fixture("amdgpu-6.13"), &f), f.n_regions, 3);
    assert_int_equal(region(&f, "vram")->resident, 1049000 * 1024ull);
    assert_int_equal(region(&f, "vram")->total, 1049600 * 1024ull);

    assert_gives(fdinfo_parse(fixture("amdgpu-6.18"), &f), f.n_regions, 8);
    assert_true(region(&f, "vram")->resident == 1049000 * 1024ull && region(&f, "doorbell")->resident == 8 * 1024);
    assert_true(engine(&f, "vpe")->ns == 5 && engine(&f, "compute")->ns == 900000000);

    assert_gives(fdinfo_parse(fixture("panthor-6.10"), &f), f.pdev.len, 0);
    assert_true(engine(&f, "panthor")->maxfreq == 1000000000 && engine(&f, "panthor")->ns == 111110952750);
    assert_int_equal(region(&f, "memory")->resident, 16480 * 1024);

    others(&f);
    assert_gives(fdinfo_parse(fixture("amdgpu-6.8-idle"), &f), f.n_engines, 0);
    assert_int_equal(fdinfo_parse(fixture("amdgpu-5.14"), &f), BARO_E_SYNTAX); /* before the keys were agreed upon */
    assert_int_equal(fdinfo_parse(fixture("not-a-gpu"), &f), BARO_E_SYNTAX);
}

TEST(cut_anywhere)
{
    static struct fdinfo f;
    static const char *const names[] = {"i915-6.8", "xe-6.11", "amdgpu-6.13", "msm-6.6", "v3d-6.12", "panfrost-6.7"};
    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        struct span whole = fixture(names[k]);
        assert_int_equal(fdinfo_parse(whole, &f), 0);
        unsigned engines = f.n_engines, regions = f.n_regions;
        for (size_t len = 0; len < whole.len; len++) {
            char *copy = malloc(len ? len : 1);
            memcpy(copy, whole.at, len);
            if (fdinfo_parse(span_of(copy, len), &f) == 0)
                assert_true(f.n_engines <= engines && f.n_regions <= regions);
            free(copy);
        }
    }
}

#define TEXT(s) span_of(s, sizeof(s) - 1)

TEST(odd_values)
{
    static struct fdinfo f;
    assert_int_equal(fdinfo_parse(TEXT("drm-engine-capacity-x: 0\nfuture-key: 1\ndrm-engine-x: 5 ns\n"
                                       "drm-total-cycles-x: 18446744073709551615\ndrm-driver: new\n"),
                                  &f),
                     0);
    assert_false(f.has_client);
    assert_int_equal(f.n_engines, 1);
    assert_int_equal(f.engine[0].capacity, 1); /* 0 makes no sense */
    assert_true(f.engine[0].total_cycles == UINT64_MAX && f.engine[0].ns == 5);
    /* other units, no number, too large, a name that is not there: no value */
    assert_int_equal(fdinfo_parse(TEXT("drm-driver: d\ndrm-engine-a: 5\ndrm-engine-b: 5 us\ndrm-engine-: 5 ns\n"
                                       "drm-total-c: 18446744073709551615 KiB\ndrm-total-d: 7 kB\ndrm-resident-e: -1\n"
                                       "drm-engine-f: 18446744073709551616 ns\ndrm-client-id: x\n"),
                                  &f),
                     0);
    assert_int_equal(f.n_engines, 0);
    assert_int_equal(f.n_regions, 0);
    assert_false(f.has_client || f.is_truncated);
}

TEST(more_than_there_is_room_for)
{
    static struct fdinfo f;
    char many[4096];
    int n = snprintf(many, sizeof(many), "drm-driver: d\n");
    for (unsigned i = 0; i < FDINFO_ENGINES_MOST + 3; i++)
        n += snprintf(many + n, sizeof(many) - (size_t)n, "drm-engine-e%u: %u ns\n", i, i);
    assert_gives(fdinfo_parse(span_of(many, (size_t)n), &f), f.n_engines, FDINFO_ENGINES_MOST);
    assert_true(f.is_truncated);
}
