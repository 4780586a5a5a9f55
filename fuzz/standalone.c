/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: on each seed of a corpus as it is, truncated to many lengths, and changed at
 * random with a fixed start, so that `./check` gives the same result each time, with any compiler. With BARO_FULL=1
 * there are four times as many of these.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CUTS = 64, CHANGED = 256, FULL = 4, SIZE_MAX_READ = 1 << 20 };

static unsigned long inputs;
static int times = 1;

/* Each input is a copy of its own, so that a sanitizer sees a read one byte beyond its end. */
static void run_one(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void run_cut(const uint8_t *data, size_t size)
{
    size_t step = size / (size_t)(CUTS * times) + 1;
    for (size_t n = 0; n < size; n += step) {
        run_one(data, n);
    }
}

/* Values at which arithmetic is likely to fail are as frequent as any other byte. */
static void run_changed(const uint8_t *data, size_t size)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', ')', '-', '9'};
    if (size == 0) {
        return;
    }
    uint8_t *changed = malloc(size);
    if (changed == NULL) {
        abort();
    }
    uint64_t state = 0x9e3779b97f4a7c15u + size;
    for (int i = 0; i < CHANGED * times; i++) {
        memcpy(changed, data, size);
        for (uint64_t left = 1 + random_next(&state) % 4; left > 0; left--) {
            uint64_t r = random_next(&state);
            uint8_t byte = (r & 1) ? telling[(r >> 8) % sizeof telling] : (uint8_t)(r >> 16);
            changed[(r >> 24) % size] = byte;
        }
        run_one(changed, size);
    }
    free(changed);
}

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(SIZE_MAX_READ);
    if (f == NULL || data == NULL) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        free(data);
        if (f != NULL) {
            (void)fclose(f);
        }
        return -1;
    }
    size_t size = fread(data, 1, SIZE_MAX_READ, f);
    (void)fclose(f);
    run_one(data, size);
    run_cut(data, size);
    run_changed(data, size);
    free(data);
    return 1;
}

/* Returns how many seeds ran, or -1. */
static int run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
        return run_file(path);
    }
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    int seeds = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        int len = snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && len > 0 && (size_t)len < sizeof file) {
            int one = run_file(file);
            seeds = one < 0 || seeds < 0 ? -1 : seeds + one;
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
    return n < 0 ? -1 : seeds;
}

int main(int argc, char **argv)
{
    times = getenv("BARO_FULL") != NULL ? FULL : 1;
    int seeds = 0;
    for (int i = 1; i < argc; i++) {
        int one = run_path(argv[i]);
        if (one <= 0) {
            (void)fprintf(stderr, "%s: no seeds\n", argv[i]);
            return 1;
        }
        seeds += one;
    }
    printf("%d seeds, %lu inputs\n", seeds, inputs);
    return 0;
}
