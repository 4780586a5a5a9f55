// SPDX-License-Identifier: Apache-2.0
// Every metric of every kind that the last sample of a tape has: dump TAPE
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include <baro/baro.h>

using Tape = std::unique_ptr<baro_tape, decltype(&baro_tape_close)>;

// Any program of a job could choose its name: it may hold what a terminal would obey.
static std::string harmless(const std::string &text)
{
    std::string ret(4 * text.size() + 1, 0);
    ret.resize(baro_text_escape(text.data(), text.size(), &ret[0], ret.size()));
    return ret;
}

static void dump(const baro_tape *tape, const baro_row *row)
{
    int kind = baro_row_kind(row);
    std::string who = baro_row_name(row);
    for (int id = 0; id < baro_tape_metric_count(tape, kind); id++) {
        const baro_metric *m = baro_tape_metric(tape, kind, id);
        std::uint64_t value = 0;
        baro_absent absent = baro_row_value(row, id, &value);
        std::cout << baro_kind_name(kind) << ' ' << (who.empty() ? "-" : harmless(who)) << ' ' << m->name << ' '
                  << baro_semantics_name(m->semantics) << ' ';
        if (absent != BARO_PRESENT)
            std::cout << "absent: " << baro_absent_name(absent) << '\n';
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
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (std::size_t i = 0; i < baro_sample_rows(s, kind); i++)
            dump(tape.get(), baro_sample_row(s, kind, i));
    }
    return 0;
}
