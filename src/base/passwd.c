/* SPDX-License-Identifier: Apache-2.0 */
#include "base/passwd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { FIELD_NAME, FIELD_UID = 2 };

struct search {
    struct passwd_user *user;
    const char *name; /* the name to find; NULL: finds uid */
    uint32_t uid;

    /* state within a line */
    size_t len; /* length of the name */
    unsigned field;
    uint64_t number;
    bool has_number, is_wrong; /* is_wrong: name or number is invalid, the line is ignored */
};

static void begin_line(struct search *s)
{
    *s = (struct search){.user = s->user, .name = s->name, .uid = s->uid};
}

static void take_char(struct search *s, char c)
{
    bool is_digit = c >= '0' && c <= '9';
    if (s->field == FIELD_NAME && s->len + 1 < PASSWD_NAME_MOST)
        s->user->name[s->len++] = c;
    else if (s->field == FIELD_UID && is_digit && s->number <= UINT32_MAX)
        s->number = s->number * 10 + (uint64_t)(c - '0');
    else
        s->is_wrong |= s->field == FIELD_NAME || s->field == FIELD_UID;
    s->has_number |= s->field == FIELD_UID && is_digit;
}

/* Is the line that of the user? This is known at the end of its third field. */
static bool end_field(struct search *s)
{
    struct passwd_user *u = s->user;
    if (s->field++ != FIELD_UID)
        return false;
    u->name[s->len] = 0;
    /* a name that begins with + or - includes users of another database */
    if (s->is_wrong || !s->has_number || s->number > UINT32_MAX || !s->len || strchr("+-#", u->name[0]))
        return false;
    u->uid = (uint32_t)s->number;
    return s->name ? strcmp(u->name, s->name) == 0 : u->uid == s->uid;
}

static int search(const char *path, struct search *s)
{
    char text[4096];
    bool found = false;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !found && (n = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < n && !found; i++) {
            if (text[i] == '\n')
                begin_line(s);
            else if (text[i] == ':')
                found = end_field(s);
            else
                take_char(s, text[i]);
        }
    }
    int code = n < 0 ? -errno : found;
    fd_close(fd);
    return code;
}

int passwd_by_uid(const char *path, uint32_t uid, struct passwd_user *ret)
{
    return search(path, &(struct search){.user = ret, .uid = uid});
}

int passwd_by_name(const char *path, const char *name, struct passwd_user *ret)
{
    return search(path, &(struct search){.user = ret, .name = name});
}
