/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"
#include "base/command_line.h"

static void check(const char *line, const char *program, const char *label)
{
    struct command_line c;
    command_line_read(line, SIZE_MAX, &c);
    struct span got = command_line_label(&c, 60);
    if (!span_equal(c.program, program) || !span_equal(got, label))
        fail_msg("%s: %.*s, %.*s", line, (int)c.program.len, c.program.at, (int)got.len, got.at);
}

TEST(subjects)
{
    check("/root/.rustup/toolchains/x/bin/rustc --crate-name ignore --edition=2021 src/lib.rs -C metadata=1", "rustc",
          "ignore");
    check("/usr/bin/gcc -O2 -Iinclude -c src/page/plot.c -o /b/plot.o", "gcc", "plot.c");
    check("cc1 -quiet -imultiarch x86_64-linux-gnu mod_1.c -quiet -dumpbase mod_1.c -o /tmp/cc1.s", "cc1", "mod_1.c");
    check("as --64 -o mod_1.o /tmp/ccQ1.s", "as", "mod_1.o");
    check("/usr/lib/gcc/x/12/collect2 -plugin a.so -o prog main.o a.o", "collect2", "prog");
    check("gcc -o prog a.c b.c", "gcc", "prog");
    check("python3 train.py --lr 0.1", "python3", "train.py --lr 0.1");
    check("python3 -u /opt/a/train.py", "python3", "train.py");
    check("make -j2 -C src all", "make", "src");
    check("sh -c make -C src", "sh", "-c make -C src");
    check("cc -O2 -MD -MT d/u1.c.o -MF d/u1.c.o.d -o d/u1.c.o -c /s/u1.c", "cc", "u1.c"); /* as cmake writes it */
    check("cc -MD -MQ p/u1.c.o -MF p/u1.c.o.d -o p/u1.c.o -c ../u1.c", "cc", "u1.c");     /* as meson does */
    check("cc -o /tmp/build/a.o -c /tmp/build/a.c", "cc", "a.c");
    check("as -o a.o /var/tmp/ccQ1.s", "as", "a.o");
    check("dmd -c a.d", "dmd", "a.d");
    check("python3 -m pytest -q", "python3", "pytest -q");
    check("rustc --crate-name build_script_build --edition=2021 /r/quote-1.0.3/build.rs -L x", "rustc",
          "quote-1.0.3/build.rs");
    check("rustc --crate-name build_script_build build.rs", "rustc", "build.rs");
    check("cargo build --offline", "cargo", "build --offline");
    check("ssh -o StrictHostKeyChecking=no host", "ssh", "-o StrictHostKeyChecking=no host");
    check("sleep", "sleep", "");
    check("sleep ", "sleep", "");
    check("", "", "");
    check("/", "/", "");
    check("/bin/", "/bin/", "");
    check("./a/b x", "./a/b", "x");
    check("gcc -c", "gcc", "-c");
    check("'postgres: checkpointer '", "postgres:", "checkpointer"); /* one argument, written over */
    check("'redis-server 127.0.0.1:56379'", "redis-server", "127.0.0.1:56379");
    check("'sshd: ada [priv]'", "sshd:", "ada [priv]");
    check("'/opt/my tool/bin/run' --fast x", "run", "--fast x");
    check("'/opt/my tool/bin/run'", "run", "");
    check("'my tool' --fast", "my tool", "--fast");
    check("'it'\\''s' x", "it'\\''s", "x");
    check("'   '", "", "");
    check("''", "", "");
    check("'", "", "");
    check("'truncated: lin", "truncated:", "lin");
}

TEST(label_is_cut_at_a_character)
{
    struct command_line c;
    command_line_read("x a\xc3\xa4"
                      "b",
                      SIZE_MAX, &c);
    assert_int_equal(command_line_label(&c, 2).len, 1);
    assert_int_equal(command_line_label(&c, 3).len, 3);
    command_line_read("abc def", 5, &c);
    assert_true(span_equal(c.rest, " d"));
}

TEST(skip)
{
    struct command_line c;
    const char *line = "gcc -O2 -Wall -Iinclude -Isrc -c src/a.c -o b/a.o";
    command_line_read(line, SIZE_MAX, &c);
    assert_int_equal(command_line_skip(&c, 200), 0); /* all of it fits */
    assert_int_equal(command_line_skip(&c, 40), 0);  /* the subject does */
    assert_string_equal(c.rest.at + command_line_skip(&c, 20), "src/a.c -o b/a.o");
    command_line_read("rustc --crate-name alpha --edition=2021 src/lib.rs", SIZE_MAX, &c);
    assert_int_equal(command_line_skip(&c, 30), 0);
}
