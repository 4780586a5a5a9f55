/* SPDX-License-Identifier: Apache-2.0 */
/* Redaction, measured on two corpora in tests/fixtures/redact, and the command line for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/proc/procfs.h"
#include "recorder/redact/redact.h"

#define OPEN "\xc2\xab"
#define CLOSE "\xc2\xbb"
enum { SECRETS_MAX = 8, LINE_MAX_BYTES = 4096 };

struct line {
    char argv[LINE_MAX_BYTES]; /* NUL-separated, as the kernel has it */
    size_t argv_len;
    char secret[SECRETS_MAX][256];
    size_t n_secrets;
};

/* Words of a line: '...' is literal, \" in "..." a quote, \n a newline. Text between the marks is noted and stays, less
 * its bars. */
static void line_split(const char *p, struct line *l)
{
    char quote = 0, *secret = NULL;
    memset(l, 0, sizeof(*l));
    for (; *p && *p != '\n'; p++) {
        char c = *p;
        if (strncmp(p, OPEN, 2) == 0) {
            assert_true(l->n_secrets < SECRETS_MAX);
            secret = l->secret[l->n_secrets++];
            p++;
            continue;
        }
        if (strncmp(p, CLOSE, 2) == 0) {
            secret = NULL;
            p++;
            continue;
        }
        if (secret && c == '|')
            continue;
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? 0 : c;
            continue;
        }
        if (c == '\\' && p[1] == 'n') {
            c = '\n';
            p++;
        } else if (c == '\\' && quote == '"') {
            c = *++p;
        }
        c = c == ' ' && !quote ? 0 : c;
        l->argv[l->argv_len++] = c;
        assert_true(l->argv_len < sizeof(l->argv) - 1);
        if (secret)
            *secret++ = c;
    }
    assert_null(secret);
    l->argv[l->argv_len++] = 0;
}

/* Six consecutive bytes of a secret are a leak, not only all of it. */
static bool leaks(const struct line *l, const char *shown)
{
    for (size_t i = 0; i < l->n_secrets; i++) {
        size_t len = strlen(l->secret[i]), window = len < 6 ? len : 6;
        for (size_t j = 0; j + window <= len; j++) {
            char piece[8] = {0};
            memcpy(piece, l->secret[i] + j, window);
            if (strstr(shown, piece))
                return true;
        }
    }
    return false;
}

struct rate {
    size_t lines, hits;
};

static struct rate corpus_run(const char *name, bool (*is_hit)(const struct line *l, const char *shown))
{
    char path[512], text[LINE_MAX_BYTES];
    const char *fixtures = getenv("BARO_FIXTURES");
    struct rate rate = {0, 0};
    struct line l;
    struct buf b = {0};
    snprintf(path, sizeof(path), "%s/redact/%s", fixtures ? fixtures : "tests/fixtures", name);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(text, sizeof(text), f)) {
        if (text[0] == '#' || text[0] == '\n')
            continue;
        line_split(text, &l);
        buf_clear(&b);
        pid_cmdline_format(span_of(l.argv, l.argv_len), 65536, &b);
        buf_byte(&b, 0);
        assert_false(b.failed);
        rate.lines++;
        if (is_hit(&l, (const char *)b.at)) {
            rate.hits++;
            print_message("%s: %.*s  gives  %s\n", name, (int)strcspn(text, "\n"), text, (const char *)b.at);
        }
    }
    fclose(f);
    buf_done(&b);
    print_message("%s: %zu of %zu\n", name, rate.hits, rate.lines);
    return rate;
}

static bool is_leak(const struct line *l, const char *shown)
{
    assert_true(l->n_secrets > 0);
    return leaks(l, shown);
}

static bool is_false_alarm(const struct line *l, const char *shown)
{
    assert_int_equal(l->n_secrets, 0);
    return strstr(shown, "***") != NULL;
}

static void recall_is_99_percent(void **state)
{
    struct rate r = corpus_run("secrets.txt", is_leak);
    assert_true(r.lines >= 500);
    assert_true(r.hits * 100 <= r.lines);
}

static void false_redaction_is_1_percent(void **state)
{
    struct rate r = corpus_run("innocuous.txt", is_false_alarm);
    assert_true(r.lines >= 500);
    assert_true(r.hits * 100 <= r.lines);
}

static void is_shown(const char *argv, size_t len, size_t max, const char *expected)
{
    struct buf b = {0};
    pid_cmdline_format(span_of(argv, len), max, &b);
    buf_byte(&b, 0);
    assert_string_equal((const char *)b.at, expected);
    buf_done(&b);
}
#define SHOWN(argv, expected) is_shown(argv, sizeof(argv) - 1, 4096, expected)

static void shows_what_was_redacted(void **state)
{
    SHOWN("mysql\0-ph4sh\0shop\0", "mysql -p*** shop");
    SHOWN("ssh\0-p\0"
          "2222\0host\0",
          "ssh -p 2222 host");
    SHOWN("curl\0-H\0Authorization: Bearer abcdef\0http://h/\0", "curl -H 'Authorization: Bearer ***' http://h/");
    SHOWN("curl\0--header\0Authorization: Bearer abcdef\0", "curl --header 'Authorization: Bearer ***'");
    SHOWN("curl\0-u\0me:abcdef\0", "curl -u me:***");
    SHOWN("x\0--password\0abcdef\0--user\0me\0", "x --password *** --user me");
    SHOWN("x\0--password\0--user\0me\0", "x --password --user me");
    SHOWN("x\0--token=abcdef\0", "x --token=***");
    SHOWN("x\0https://me:abcdef@h/p?q=1\0", "x 'https://me:***@h/p?q=1'");
    SHOWN("sh\0-c\0A=1 PGPASSWORD=abcdef psql -h db; x --token=zz y\0",
          "sh -c 'A=1 PGPASSWORD=*** psql -h db; x --token=*** y'");
    SHOWN("env\0A=1\0mysql\0-pabcdef\0", "env A=1 mysql -p***");
    SHOWN("docker\0login\0-p\0"
          "123456\0",
          "docker login -p ***");
    SHOWN("docker\0run\0-p\0"
          "8080:80\0nginx\0",
          "docker run -p 8080:80 nginx");
}

static void quotes_as_a_shell_reads(void **state)
{
    SHOWN("", "");
    SHOWN("a\0", "a");
    SHOWN("a\0\0", "a ''");
    SHOWN("a b\0c'd\0$e\0f\ng\0", "'a b' 'c'\\''d' '$e' 'f\ng'");
    SHOWN("'\0''\0", "''\\''' ''\\'''\\'''");
    SHOWN("A=1\0A=1\0", "'A=1' A=1");
    SHOWN("no-nul", "no-nul");
    SHOWN("nginx: worker process\0\0\0\0\0\0\0\0\0\0\0\0", "'nginx: worker process'");
    SHOWN("a\0\xff\xfe\0", "a '\xff\xfe'");
    SHOWN("a\0*\0", "a '*'");
}

static void cuts_at_max(void **state)
{
    static const char argv[] = "abc\0defgh\0";
    is_shown(argv, sizeof(argv) - 1, 9, "abc defgh");
    is_shown(argv, sizeof(argv) - 1, 8, "abc d...");
    is_shown(argv, sizeof(argv) - 1, 3, "...");
    is_shown(argv, sizeof(argv) - 1, 2, "..");
    is_shown(argv, sizeof(argv) - 1, 0, "");
    is_shown("a\xc3\xa9zzzz", 7, 6, "'a..."); /* not within é */
    is_shown("--password\0abcdef\0", 18, 12, "--passwor...");
}

/* A long command line, as `rm` of a whole directory has it. What is shown of it is short, and has no secret. */
static void takes_1_8_megabytes(void **state)
{
    size_t len = 1800000, at = 0;
    char *argv = malloc(len);
    assert_non_null(argv);
    while (at + 30 < len) {
        int n = snprintf(argv + at, len - at, "file-%zu", at);
        at += (size_t)n + 1;
        n = snprintf(argv + at, len - at, "--token=abcdefg");
        at += (size_t)n + 1;
    }
    struct buf b = {0};
    pid_cmdline_format(span_of(argv, at), 4096, &b);
    assert_int_equal(b.len, 4096);
    assert_null(memmem(b.at, b.len, "abcdefg", 7));
    assert_memory_equal(b.at + 4093, "...", 3);
    memset(argv, 'x', len);
    memcpy(argv, "https://a:", 10);
    buf_clear(&b);
    pid_cmdline_format(span_of(argv, len), 100, &b);
    assert_true(b.len <= 100);
    memset(argv, '=', len);
    buf_clear(&b);
    pid_cmdline_format(span_of(argv, len), 100, &b);
    assert_true(b.len <= 100);
    free(argv);
    buf_done(&b);
}

/* If text is cut at any byte, a secret that was whole before the cut is not shown. */
static void cut_text_keeps_its_secret(void **state)
{
    static const char argv[] =
        "x\0--password\0h4shh4sh\0https://me:h4shh4sh@host/\0-H\0Authorization: Bearer h4shh4sh\0";
    struct buf b = {0};
    for (size_t len = 0; len < sizeof(argv); len++) {
        buf_clear(&b);
        pid_cmdline_format(span_of(argv, len), 4096, &b);
        assert_true(!b.len || !memmem(b.at, b.len, "h4sh", 4));
        buf_clear(&b);
        pid_cmdline_format(span_of(argv, sizeof(argv) - 1), len, &b);
        assert_true(b.len <= len && (!b.len || !memmem(b.at, b.len, "h4sh", 4)));
    }
    char text[4160];
    memset(text, '/', sizeof(text));
    memcpy(text + 4096, "https://me:h4shh4sh@host", 25);
    for (size_t most = 4096; most <= sizeof(text); most++) {
        buf_clear(&b);
        redact_argument_part(span_str("x"), span_str("--to"), span_of(text, 4120), most, &b);
        assert_true(b.len && !memmem(b.at, b.len, "h4sh", 4));
    }
    buf_done(&b);
}

static void more_secrets_than_marks_hide_all(void **state)
{
    struct buf text = {0}, b = {0};
    for (int i = 0; i < 100; i++)
        buf_str(&text, "token=abcdef&");
    assert_true(redact_argument(span_str("x"), span_str(""), span_of(text.at, text.len), &b));
    assert_null(memmem(b.at, b.len, "abcdef", 6));
    buf_clear(&b);
    buf_clear(&text);
    for (int i = 0; i < 100; i++)
        buf_str(&text, "?a=1&token=abcdef ");
    assert_true(redact_argument(span_str("x"), span_str(""), span_of(text.at, text.len), &b));
    assert_null(memmem(b.at, b.len, "abcdef", 6));
    buf_done(&text);
    buf_done(&b);
}

/* Text in which each part refers to the rest of it: in quadratic time one of these would take minutes. */
static void examines_in_proportion(void **state)
{
    static const char *const pieces[] = {
        "cookie: ",     "cookie: /a ",  "authorization: (",
        "token=file:",  "?token=file:", "://",
        "://a:b",       "a:b@",         "a: \"",
        "\"token\":'/", "s.s.",         "eyJaaaaaaaaaa.",
        "12345678:",    "password ",    "echo 'x' | -S ",
        "((((",         "\\\"",         "jdbc:oracle:thin:@",
        "-xp mysql -p", "'\"",          "bearer x",
    };
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        struct buf text = {0}, b = {0};
        while (text.len < 400000)
            buf_str(&text, pieces[i]);
        redact_argument(span_str("sh"), span_str("-c"), span_of(text.at, text.len), &b);
        assert_false(b.failed);
        buf_done(&text);
        buf_done(&b);
    }
    struct buf all = {0}, b = {0};
    for (int i = 0; i < 20; i++) {
        buf_str(&all, "--token=");
        for (int j = 0; j < 20000; j++)
            buf_str(&all, j % 2 ? "x" : "y");
        buf_byte(&all, 0);
    }
    pid_cmdline_format(span_of(all.at, all.len), 4096, &b);
    buf_byte(&b, 0);
    assert_string_equal((const char *)b.at, "'--token=***' --token=*** ...");
    buf_done(&all);
    buf_done(&b);
    /* What is not examined to its end may end within a secret: 2 * (4096 + 4096) bytes are. */
    for (size_t cut = 0; cut < 40; cut++) {
        struct buf line = {0};
        for (int i = 0; i < 2; i++) {
            buf_str(&line, "--token=");
            for (size_t j = 8; j < (i ? 8192 - cut : 8192); j++)
                buf_str(&line, j % 2 ? "x" : "y");
            buf_byte(&line, 0);
        }
        buf_str(&line, "bob:hunter2@proxy.test:8080 and more that comes after it");
        pid_cmdline_format(span_of(line.at, line.len), 4096, &b);
        buf_byte(&b, 0);
        assert_null(strstr((const char *)b.at, "hun"));
        buf_done(&line);
        buf_done(&b);
    }
}

static void names_keep_no_secret(void **state)
{
    static const struct {
        const char *name, *expected;
    } of[] = {
        {"", ""},
        {"kworker/0:1-events", "kworker/0:1-events"},
        {"user@1000.service", "user@1000.service"},
        {"dbus-:1.2-org.kde.KScreen@1.service", "dbus-:1.2-org.kde.KScreen@1.service"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice",
         "/user.slice/user-1000.slice/user@1000.service/app.slice"},
        {"/docker/4f9d2c1b7a8e4f9d2c1b7a8e4f9d2c1b7a8e4f9d2c1b7a8e4f9d2c1b7a8e4f9d",
         "/docker/4f9d2c1b7a8e4f9d2c1b7a8e4f9d2c1b7a8e4f9d2c1b7a8e4f9d2c1b7a8e4f9d"},
        {"/kubepods.slice/kubepods-pod1d5b.slice/cri-containerd-8a7b.scope",
         "/kubepods.slice/kubepods-pod1d5b.slice/cri-containerd-8a7b.scope"},
        {"/system.slice/system-getty.slice/getty@tty1.service", "/system.slice/system-getty.slice/getty@tty1.service"},
        {"nfs4 server:/export/home", "nfs4 server:/export/home"},
        {"ext4 /dev/mapper/vg-root", "ext4 /dev/mapper/vg-root"},
        {"token=h4sh", "token=***"},
        {"/a/token=h4sh/b", "/a/token=***/b"},
        {"davfs https://bob:h4sh@cloud.test/dav", "davfs https://bob:***@cloud.test/dav"},
        {"fuse.curlftpfs curlftpfs#ftp://u:h4sh@h.test/", "fuse.curlftpfs curlftpfs#ftp://u:***@h.test/"},
        {"fuse.rclone :sftp,host=h,user=u,pass=h4sh:", "fuse.rclone :sftp,host=h,user=u,pass=***"},
        {"cifs //srv/share,password=h4sh", "cifs //srv/share,password=***"},
        {"ghp_abcdefghijklmnopqrstuvwxyz", "***"},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct buf b = {0};
        char cut[8];
        bool any = redact_name(span_str(of[i].name), &b);
        buf_byte(&b, 0);
        assert_string_equal((const char *)b.at, of[i].expected);
        assert_int_equal(any, strcmp(of[i].name, of[i].expected) != 0);
        redact_name_to(of[i].name, cut, sizeof(cut));
        assert_int_equal(strncmp(cut, of[i].expected, 7), 0);
        assert_int_equal(strlen(cut), strlen(of[i].expected) < 7 ? strlen(of[i].expected) : 7);
        buf_done(&b);
    }
    char none[4];
    redact_name_to(NULL, none, sizeof(none));
    assert_string_equal(none, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recall_is_99_percent),
        cmocka_unit_test(false_redaction_is_1_percent),
        cmocka_unit_test(shows_what_was_redacted),
        cmocka_unit_test(quotes_as_a_shell_reads),
        cmocka_unit_test(cuts_at_max),
        cmocka_unit_test(takes_1_8_megabytes),
        cmocka_unit_test(cut_text_keeps_its_secret),
        cmocka_unit_test(more_secrets_than_marks_hide_all),
        cmocka_unit_test(examines_in_proportion),
        cmocka_unit_test(names_keep_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
