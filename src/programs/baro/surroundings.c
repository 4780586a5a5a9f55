/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/surroundings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"

#define FOLDERS_MOST 32          /* that are searched upwards for a repository */
#define SMALL_MOST 4096          /* bytes of HEAD, a ref, .git of a worktree */
#define PACKED_PIECE (64u << 10) /* bytes of packed-refs that are read at once */
#define HASH_LEAST 40u
#define HASH_MOST 64u
#define BRANCH_MOST 250u

static void add(struct surroundings *s, const char *key, const char *value, size_t len)
{
    struct tag_settings *t = &s->tags;
    size_t key_len = strlen(key);
    if (!len || s->n == SURROUNDINGS_MOST || t->n == SETTINGS_TAGS_MAX || key_len + len + 2 > SURROUNDING_SIZE)
        return;
    for (int i = 0; i < t->n; i++) {
        if (strncmp(t->at[i], key, key_len) == 0 && t->at[i][key_len] == '=')
            return;
    }
    snprintf(s->text[s->n], SURROUNDING_SIZE, "%s=%.*s", key, (int)len, value);
    t->at[t->n++] = s->text[s->n++];
}

/* ---- variables of CI and of batch systems ---- */

static void add_variables(struct surroundings *s)
{
    static const struct {
        const char *key, *variables[4];
    } rows[] = {
        {"git.commit", {"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"}},
        {"git.branch", {"GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH"}},
        {"ci.run", {"GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_ID"}},
        {"ci.job", {"GITHUB_JOB", "CI_JOB_NAME", "JOB_NAME"}},
    };
    const char *partition = getenv("SLURM_JOB_PARTITION");
    if (partition)
        add(s, "partition", partition, strlen(partition));
    if (!getenv("CI") && !getenv("JENKINS_URL"))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (int k = 0; k < 4 && rows[i].variables[k]; k++) {
            const char *value = getenv(rows[i].variables[k]);
            if (value)
                add(s, rows[i].key, value, strlen(value));
        }
    }
}

/* ---- files of git ---- */

/* Opens what belongs to this user: others could make it say, or name, anything. */
static int open_own(int dir, const char *name, bool is_folder)
{
    struct stat st;
    int fd =
        openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (is_folder ? O_DIRECTORY : 0));
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || !(is_folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))
        return fd_close(fd);
    return fd;
}

/* Reads a small file without the blanks at its end. Returns its length; 0 if it can't be, or is too large. */
static size_t read_own(int dir, const char *name, char ret[SMALL_MOST + 1])
{
    int fd = open_own(dir, name, false);
    ssize_t n = fd < 0 ? 0 : fd_pread_all(fd, ret, SMALL_MOST + 1);
    fd_close(fd);
    if (n <= 0 || n > SMALL_MOST)
        return 0;
    while (n && strchr(" \r\n", ret[n - 1]) && ret[n - 1])
        n--;
    ret[n] = 0;
    return strlen(ret) == (size_t)n ? (size_t)n : 0;
}

static bool is_hash(const char *at, size_t len)
{
    return len >= HASH_LEAST && len <= HASH_MOST && strspn(at, "0123456789abcdef") >= len;
}

/* Is it a name below refs/, as git makes them (git-check-ref-format(1))? It does not leave the folder then. */
static bool is_ref(const char *name)
{
    if (strncmp(name, "refs/", 5) != 0 || strlen(name) > BRANCH_MOST || strstr(name, "//") || strstr(name, "/.") ||
        strstr(name, "..") || name[strlen(name) - 1] == '/')
        return false;
    for (; *name; name++) {
        if ((unsigned char)*name <= ' ' || *name == 127 || strchr("~^:?*[\\", *name))
            return false;
    }
    return true;
}

/* Is a line "HASH NAME" that of the ref? Returns the length of the hash, or 0. */
static size_t hash_of(const char *at, size_t len, const char *name)
{
    const char *blank = memchr(at, ' ', len);
    size_t hash = blank ? (size_t)(blank - at) : 0;
    bool is = hash <= HASH_MOST && hash && len - hash - 1 == strlen(name) && memcmp(blank + 1, name, strlen(name)) == 0;
    return is ? hash : 0;
}

/* Finds a ref in packed-refs, which can be large: 100,000 branches are 7 MB. A line that is cut at the end of the
 * buffer is read again. */
static size_t read_packed(int dir, const char *name, char ret[SMALL_MOST + 1])
{
    int fd = open_own(dir, "packed-refs", false);
    char *text = fd < 0 ? NULL : malloc(PACKED_PIECE);
    size_t found = 0, used = 1;
    for (off_t from = 0; text && used && !found; from += (off_t)used) {
        ssize_t n = pread(fd, text, PACKED_PIECE, from);
        used = 0;
        for (const char *stop; n > 0 && !found && (stop = memchr(text + used, '\n', (size_t)n - used));) {
            found = hash_of(text + used, (size_t)(stop - text) - used, name);
            memcpy(ret, text + used, found);
            ret[found] = 0;
            used = (size_t)(stop - text) + 1;
        }
    }
    free(text);
    fd_close(fd);
    return found;
}

/* git: the folder of HEAD; common: that of the refs, the same but in a worktree. */
static void add_head(struct surroundings *s, int git, int common)
{
    char head[SMALL_MOST + 1], hash[SMALL_MOST + 1];
    size_t len = read_own(git, "HEAD", head);
    if (is_hash(head, len))
        add(s, "git.commit", head, len);
    if (len <= 5 || strncmp(head, "ref: ", 5) != 0 || !is_ref(head + 5))
        return;
    if (strncmp(head + 5, "refs/heads/", 11) == 0)
        add(s, "git.branch", head + 16, len - 16);
    size_t n = read_own(common, head + 5, hash);
    n = n ? n : read_packed(common, head + 5, hash);
    if (is_hash(hash, n))
        add(s, "git.commit", hash, n);
}

/* .git of a worktree is a file, "gitdir: PATH"; the folder there has a file commondir. */
static int open_worktree(int folder)
{
    char text[SMALL_MOST + 1];
    size_t len = read_own(folder, ".git", text);
    return len > 8 && strncmp(text, "gitdir: ", 8) == 0 ? open_own(folder, text + 8, true) : -1;
}

static void add_repository(struct surroundings *s, int git)
{
    char text[SMALL_MOST + 1];
    int common = read_own(git, "commondir", text) ? open_own(git, text, true) : -1;
    add_head(s, git, common < 0 ? git : common);
    fd_close(common);
}

/* The repository is the nearest one upwards, if it belongs to this user. */
static void add_git(struct surroundings *s, int cwd)
{
    struct stat st;
    int folder = openat(cwd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < FOLDERS_MOST && folder >= 0; i++) {
        if (fstatat(folder, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0) {
            int git = S_ISDIR(st.st_mode) ? open_own(folder, ".git", true) : open_worktree(folder);
            if (git >= 0)
                add_repository(s, git);
            fd_close(git);
            break;
        }
        int up = openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        fd_close(folder);
        folder = up;
    }
    fd_close(folder);
}

void surroundings_find(struct surroundings *s, const struct tag_settings *given, const char *note, int cwd)
{
    s->tags = *given;
    s->n = 0;
    if (note)
        add(s, "note", note, strlen(note));
    if (cwd == -1)
        return;
    add_variables(s);
    add_git(s, cwd);
}
