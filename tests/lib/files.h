/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of files made for one test. Include after cmocka.h, with stdio.h, stdlib.h, string.h and sys/stat.h. */
#ifndef TESTS_FILES_H
#define TESTS_FILES_H

#define FILES_NAME "/tmp/baro-test-XXXXXX"

static inline void files_make(char dir[sizeof(FILES_NAME)])
{
    memcpy(dir, FILES_NAME, sizeof(FILES_NAME));
    assert_non_null(mkdtemp(dir));
}

/* With all folders above it. */
static inline void files_put(const char *dir, const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s/%s", dir, path);
    for (char *slash = whole + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static inline void files_remove(const char *dir)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

#endif
