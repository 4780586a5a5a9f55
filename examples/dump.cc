// SPDX-License-Identifier: Apache-2.0
// Every metric of every kind that the last sample of a tape has: dump TAPE
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include <baro/baro.h>

using Tape = std::unique_ptr<baro_tape, decltype(&baro_tape_close)>;
using Getter = std::function<int(int, std::uint64_t *)>;

// Any program of a job could choose its name: it may hold what a terminal would obey.
static std::string harmless(const std::string &text)
{
    std::string ret(4 * text.size() + 1, 0);
    ret.resize(baro_text_escape(text.data(), text.size(), &ret[0], ret.size()));
    return ret;
}

static void dump(const baro_tape *tape, baro_kind kind, const std::string &who, const Getter &get)
{
    for (int id = 0; id < baro_tape_metric_count(tape, kind); id++) {
        const baro_metric *m = baro_tape_metric(tape, kind, id);
        std::uint64_t value = 0;
        int absent = get(id, &value);
        std::cout << baro_kind_name(kind) << ' ' << harmless(who) << ' ' << m->name << ' '
                  << baro_semantics_name(m->semantics) << ' ';
        if (absent)
            std::cout << "absent: " << baro_absent_name(static_cast<baro_absent>(absent)) << '\n';
        else
            std::cout << value << '\n';
    }
}

int main(int argc, char **argv)
{
    baro_error err = BARO_ERROR_INIT;
    baro_tape *opened = nullptr;
    if (argc != 2) {
        std::cerr << "usage: dump TAPE\n";
        return 2;
    }
    if (baro_tape_open(&opened, argv[1], &err) < 0) {
        std::cerr << "dump: " << err.text << '\n';
        return 1;
    }
    Tape tape(opened, baro_tape_close);
    baro_record record;
    int found = baro_tape_seek(tape.get(), UINT64_MAX, &record, &err);
    if (found <= 0) {
        std::cerr << "dump: " << (found < 0 ? err.text : "the tape has no sample") << '\n';
        return 1;
    }
    const baro_sample *s = record.u.sample;
    dump(tape.get(), BARO_KIND_JOB, "-", [s](int id, std::uint64_t *ret) { return baro_sample_job(s, id, ret); });
    dump(tape.get(), BARO_KIND_RECORDER, "-",
         [s](int id, std::uint64_t *ret) { return baro_sample_recorder(s, id, ret); });
    dump(tape.get(), BARO_KIND_HOST, "-", [s](int id, std::uint64_t *ret) { return baro_sample_host(s, id, ret); });
    for (std::size_t i = 0; i < baro_sample_count(s); i++) {
        const baro_process *p = baro_sample_process(s, i);
        dump(tape.get(), BARO_KIND_PROCESS, baro_process_name(p),
             [p](int id, std::uint64_t *ret) { return baro_process_value(p, id, ret); });
    }
    for (int k = BARO_KIND_CPU; k < baro_kind_count(); k++) {
        auto kind = static_cast<baro_kind>(k);
        for (std::size_t i = 0; i < baro_sample_entity_count(s, kind); i++) {
            const baro_entity *e = baro_sample_entity(s, kind, i);
            dump(tape.get(), kind, baro_entity_name(e),
                 [e](int id, std::uint64_t *ret) { return baro_entity_value(e, id, ret); });
        }
    }
    return 0;
}
