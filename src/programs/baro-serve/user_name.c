/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/user_name.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { FIELD_NAME, FIELD_PASSWORD, FIELD_UID };

/* Within a line. */
struct search {
    uint32_t uid;
    char *name; /* of USER_NAME_MOST bytes */
    size_t len;
    unsigned field;
    uint64_t number;
    bool has_number, is_wrong; /* wrong: the line names nobody */
};

static void begin_line(struct search *s)
{
    *s = (struct search){.uid = s->uid, .name = s->name};
}

static void take(struct search *s, char c)
{
    bool is_digit = c >= '0' && c <= '9';
    if (s->field == FIELD_NAME && s->len + 1 < USER_NAME_MOST)
        s->name[s->len++] = c;
    else if (s->field == FIELD_NAME)
        s->is_wrong = true;
    else if (s->field == FIELD_UID && is_digit && s->number <= UINT32_MAX)
        s->number = s->number * 10 + (uint64_t)(c - '0');
    else if (s->field == FIELD_UID)
        s->is_wrong = true;
    s->has_number |= s->field == FIELD_UID && is_digit;
}

/* Is the line that of the user? Known at the end of its third field. */
static bool end_field(struct search *s)
{
    bool is_named = s->len && !strchr("+-#", s->name[0]); /* what is included from elsewhere, or a remark */
    if (s->field == FIELD_UID && s->has_number && !s->is_wrong && is_named && s->number == s->uid) {
        s->name[s->len] = 0;
        return true;
    }
    s->field++;
    return false;
}

bool user_name_in(const char *path, uint32_t uid, char ret[static USER_NAME_MOST])
{
    struct search s = {.uid = uid, .name = ret};
    char text[4096];
    bool found = false;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !found && (n = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < n && !found; i++) {
            if (text[i] == '\n')
                begin_line(&s);
            else if (text[i] == ':')
                found = end_field(&s);
            else
                take(&s, text[i]);
        }
    }
    fd_close(fd);
    return found;
}

void user_name(uint32_t uid, char ret[static USER_NAME_MOST])
{
    char room[1024];
    struct passwd pw, *found = NULL;
    if (user_name_in("/etc/passwd", uid, ret))
        return;
    bool has = getpwuid_r(uid, &pw, room, sizeof(room), &found) == 0 && found && strlen(found->pw_name) < USER_NAME_MOST;
    if (has)
        memcpy(ret, found->pw_name, strlen(found->pw_name) + 1);
    else
        snprintf(ret, USER_NAME_MOST, "%u", uid);
}
