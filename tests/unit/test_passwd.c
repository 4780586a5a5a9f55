/* SPDX-License-Identifier: Apache-2.0 */
/* Users of a file like /etc/passwd. */
#include <errno.h>
#include <unistd.h>

#include "unit.h"
#include "base/passwd.h"

#define PATH "test_passwd.txt"

static void write_file(const char *text)
{
    FILE *f = fopen(PATH, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_name(uint32_t uid, const char *expected)
{
    struct passwd_user user;
    int code = passwd_by_uid(PATH, uid, &user);
    assert_in_range(code, 0, 1);
    if (code > 0) {
        assert_non_null(expected);
        assert_string_equal(user.name, expected);
        assert_int_equal(user.uid, uid);
        assert_one(passwd_by_name(PATH, expected, &user), user.uid, uid);
    } else {
        assert_null(expected);
    }
}

TEST(users_of_a_file)
{
    write_file("root:x:0:0:root:/root:/bin/sh\n"
               "toor:x:0:0::/root:/bin/sh\n" /* the first one counts */
               "\n"
               "no colon\n"
               "short:x\n"
               "bob:x:1000:1000:1001:/srv/bob:/bin/sh\n"
               ":x:1001:1001:::\n"
               "ann::1002:1002:::\n"
               "# old:x:1003:1003:::\n"
               "+nis:x:1004:::\n"
               "-bad:x:1005:::\n"
               "wrong:x:10x6:::\n"
               "sign:x:-1007:::\n"
               "none:x::::\n"
               "large:x:4294968303:::\n"            /* 1007 in 32 bits */
               "larger:x:18446744073709552623:::\n" /* and in 64 */
               "most:x:4294967295:::\n"
               "last:x:1009");
    assert_name(0, "root");
    assert_name(1000, "bob");
    assert_name(1002, "ann");
    assert_name(UINT32_MAX, "most");
    assert_name(1009, NULL); /* the field has no end */
    for (uint32_t uid = 1001; uid <= 1008; uid++)
        assert_name(uid, uid == 1002 ? "ann" : NULL);
    struct passwd_user user;
    assert_one(passwd_by_name(PATH, "toor", &user), user.uid, 0);
    static const char *const none[] = {"", "b", "bobb", "# old", "+nis", "wrong", "large", "short", NULL};
    for (const char *const *name = none; *name; name++)
        assert_int_equal(passwd_by_name(PATH, *name, &user), 0);
    unlink(PATH);
}

/* A file that can't be opened or read names nobody, and says so. */
TEST(unreadable_file)
{
    struct passwd_user user;
    assert_int_equal(passwd_by_name("nosuch/passwd", "root", &user), -ENOENT);
    assert_int_equal(passwd_by_uid("nosuch/passwd", 0, &user), -ENOENT);
    assert_int_equal(passwd_by_name(".", "root", &user), -EISDIR);
}

/* A name that is too long is nobody's, and a line may lie anywhere among the blocks that are read. */
TEST(long_lines)
{
    char text[16384], name[PASSWD_NAME_MOST + 1];
    for (size_t before = 4000; before < 4200; before++) {
        memset(text, 'a', before);
        snprintf(text + before, sizeof(text) - before, "\nbob:x:1000:1000:::\n");
        write_file(text);
        assert_name(1000, "bob");
    }
    for (size_t len = PASSWD_NAME_MOST - 2; len <= PASSWD_NAME_MOST; len++) {
        memset(name, 'n', len);
        name[len] = 0;
        snprintf(text, sizeof(text), "%s:x:7:7:::\n", name);
        write_file(text);
        assert_name(7, len < PASSWD_NAME_MOST ? name : NULL);
    }
    unlink(PATH);
}
