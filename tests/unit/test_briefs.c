/* SPDX-License-Identifier: Apache-2.0 */
/* Brief lives of a machine: what the recorder makes one entity of, and what the summary makes of entities; and the
 * path that names the control group of a process. */

#include "unit.h"
#include "baro/summary.h"
#include "base/clock.h"
#include "libbaro/summary/summary.h"
#include "recorder/collectors/machine/brief.h"
#include "recorder/collectors/machine/groups.h"

/* A process that lived 4 ms and used 1 ms, in group 7. */
static struct baro_exit one(const char *name, const char *parent)
{
    struct baro_exit e = {.name = name, .parent_name = parent, .uid = 3, .status_known = true};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    e.value[EXIT_cpu] = NS_PER_MS;
    e.value[EXIT_elapsed] = 4 * NS_PER_MS;
    e.value[EXIT_rss_peak] = 4096;
    e.value[EXIT_cgroup] = 7;
    e.absent[EXIT_cpu] = e.absent[EXIT_elapsed] = e.absent[EXIT_rss_peak] = e.absent[EXIT_cgroup] = BARO_PRESENT;
    return e;
}

TEST(what_is_no_record_of_its_own)
{
    struct sampling g = {0};
    struct brief b;
    brief_init(&b, &g);
    struct baro_exit e = one("true", "sh");
    assert_true(brief_takes(&b, &e));
    e.value[EXIT_elapsed] = 100 * NS_PER_MS;
    assert_false(brief_takes(&b, &e));
    e = one("true", "sh");
    e.value[EXIT_cpu] = 10 * NS_PER_MS;
    assert_false(brief_takes(&b, &e));
    e = one("true", "sh");
    e.sampled = true;
    assert_false(brief_takes(&b, &e));
    e = one("true", "sh");
    e.status = 11; /* SIGSEGV */
    assert_false(brief_takes(&b, &e));
    e.status = 1 << 8;
    assert_true(brief_takes(&b, &e));
    e = one("true", "make");
    assert_true(brief_takes(&b, &e));
    e = one("true", "make");
    e.value[EXIT_cgroup] = 8;
    e.absent[EXIT_cpu] = BARO_ABSENT_UNKNOWN;
    assert_true(brief_takes(&b, &e));
    struct baro_sample s = {0};
    brief_fill(&b, &s);
    const struct baro_entities *of = &s.entities[KIND_brief];
    assert_int_equal(of->n, 3);
    assert_string_equal(of->at[0]->name, "true");
    assert_string_equal(of->at[0]->label, "sh");
    assert_int_equal(of->at[0]->value[BRIEF_processes], 2);
    assert_int_equal(of->at[0]->value[BRIEF_failed], 1);
    assert_int_equal(of->at[0]->value[BRIEF_cpu], 2 * NS_PER_MS);
    assert_int_equal(of->at[0]->value[BRIEF_cgroup], 7);
    assert_int_equal(of->at[2]->value[BRIEF_unread], 1);
    /* After a minute without another one it is left out, and begins anew. */
    g.now_ns = 61 * NS_PER_SEC;
    e = one("true", "make");
    assert_true(brief_takes(&b, &e));
    brief_fill(&b, &s);
    assert_int_equal(of->n, 1);
    assert_int_equal(of->at[0]->value[BRIEF_processes], 2);
    e = one("true", "sh");
    assert_true(brief_takes(&b, &e));
    brief_fill(&b, &s);
    assert_int_equal(of->n, 2);
    assert_int_equal(of->at[1]->value[BRIEF_processes], 1);
    /* Samples that are two minutes apart have what ended just after the one before. */
    e = one("late", "sh");
    assert_true(brief_takes(&b, &e));
    g.now_ns += 120 * NS_PER_SEC;
    brief_fill(&b, &s);
    assert_int_equal(of->n, 1);
    assert_string_equal(of->at[0]->name, "late");
    brief_done(&b);
}

/* perl used 3 ms before it executed another program, which was brief and has no exit: a later process with its pid was
 * never perl. */
TEST(a_program_of_an_earlier_process)
{
    struct summary_program perl = {.key = {5, 100}, .cpu_ns = 3 * NS_PER_MS};
    struct summary_programs p = {.at = &perl, .n = 1};
    struct command counted = {0};
    uint64_t value[COMMAND_MAX] = {[COMMAND_CPU] = 20 * NS_PER_MS};
    uint8_t absent[COMMAND_MAX] = {0};
    programs_split(&p, (struct baro_key){5, 900}, value, absent, &counted);
    assert_int_equal(value[COMMAND_CPU], 20 * NS_PER_MS);
    assert_int_equal(counted.processes, 0);
    programs_split(&p, perl.key, value, absent, &counted);
    assert_int_equal(value[COMMAND_CPU], 17 * NS_PER_MS);
    assert_int_equal(counted.processes, 1);
    assert_int_equal(counted.earlier, 1);
    programs_end(&p, (struct baro_key){5, 900});
    assert_int_equal(p.n, 0);
}

/* 40 of `true`, then 90 in all; left out; 30 of another entity: 120. Without the beginning of the tape only growth
 * counts: 50 and 30. */
static uint64_t count_commands(uint32_t segment)
{
    struct baro_header h = {.segment = segment, .cgroup_mode = "machine"};
    struct baro_summary *s = summary_new(&h);
    uint64_t value[BRIEF_MAX] = {0};
    uint8_t absent[BRIEF_MAX] = {0};
    struct baro_entity e = {
        .id = 10, .kind = KIND_brief, .name = "true", .label = "sh", .value = value, .absent = absent};
    struct baro_entity *at[] = {&e};
    static const uint64_t counts[] = {40, 90, 0, 30};
    for (unsigned i = 0; i < 4; i++) {
        struct baro_sample sample = {.t_ns = (i + 1) * NS_PER_SEC};
        value[BRIEF_processes] = counts[i];
        value[BRIEF_cpu] = counts[i] * NS_PER_MS;
        e.id = i == 3 ? 11 : 10;
        sample.entities[KIND_brief] = (struct baro_entities){.at = at, .n = i != 2};
        summary_add_sample(s, &sample);
    }
    uint32_t i = commands_find(&s->commands, "true");
    uint64_t n = s->commands.at[i].processes;
    assert_int_equal(s->commands.at[i].value[COMMAND_CPU], n * NS_PER_MS);
    assert_int_equal(s->commands.at[i].covered[COMMAND_CPU], n);
    summary_free(s);
    return n;
}

TEST(they_count_for_their_command)
{
    assert_int_equal(count_commands(1), 120);
    assert_int_equal(count_commands(2), 80);
}

TEST(the_group_of_a_process)
{
    static const struct {
        const char *text, *path;
    } of[] = {
        {"0::/system.slice/cron.service\n", "/system.slice/cron.service"},
        {"0::/\n", "/"},
        {"4:memory:/a/b\n2:cpu,cpuacct:/c\n0::/\n", "/c"},
        {"4:memory:/a/b\n1:name=systemd:/user.slice\n2:cpuacct:/c\n", "/user.slice"},
        {"4:memory:/a/b\n1:name=systemd:/\n2:cpuacct:/\n", "/a/b"},
    };
    struct span path;
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        assert_true(machine_groups_path(span_of(of[i].text, strlen(of[i].text)), &path));
        assert_true(span_equal(path, of[i].path));
    }
    assert_false(machine_groups_path(span_of("x", 1), &path));
}
