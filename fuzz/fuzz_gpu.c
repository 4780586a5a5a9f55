/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the parser: fdinfo of a GPU, or else a list of devices. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "kernel/proc/fdinfo.h"
#include "programs/baro-gpu/gpu_helper.h"

static bool is_within(struct span part, struct span text)
{
    return !part.len || (part.at >= text.at && part.at + part.len <= text.at + text.len);
}

static void fdinfo(struct span text)
{
    static struct fdinfo f;
    if (fdinfo_parse(text, &f) < 0)
        return;
    if (f.n_engines > FDINFO_ENGINES_MOST || f.n_regions > FDINFO_REGIONS_MOST || !is_within(f.driver, text) ||
        !is_within(f.pdev, text))
        abort();
    for (unsigned i = 0; i < f.n_engines; i++) {
        if (!f.engine[i].name.len || !is_within(f.engine[i].name, text) || !f.engine[i].capacity)
            abort();
    }
    for (unsigned i = 0; i < f.n_regions; i++) {
        if (!f.region[i].valid || !is_within(f.region[i].name, text))
            abort();
    }
}

static void list(struct span text)
{
    char *copy = strndup(text.at, text.len);
    if (copy) {
        gpu_is_chosen(copy, 1, 4, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
        gpu_is_listed(copy, 1, "card1", "5f1c2ab34dd70b3e");
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in;
    if (!fuzz_input(data, size, 3, &in))
        return 0;
    if (in.which == 0)
        fdinfo(in.text);
    else
        list(in.text);
    fuzz_done(&in);
    return 0;
}
