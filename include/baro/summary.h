/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The summary of a recording: what `baro summary` prints, as data.
 *
 * A summary is a list of facts in sections. A section has one row ("job", "limits", "host.pressure"), or it is a table
 * with any number of rows ("commands"). A fact is a column of its section. Its name, type, unit and meaning are the
 * same in all summaries; a summary has a value for each fact and row. This loop reads all values:
 *
 *     for (int f = 0; f < baro_summary_fact_count(); f++) {
 *         const struct baro_fact *fact = baro_summary_fact(f);
 *         for (size_t row = 0; row < baro_summary_rows(summary, fact->section); row++) {
 *             struct baro_value v;
 *             if (baro_summary_value(summary, f, row, &v) == BARO_PRESENT)
 *                 ...
 *
 * and this line one value:
 *
 *     baro_summary_value(summary, baro_summary_fact_find("job", "cpu_ns"), 0, &v);
 *
 * `baro run` prints a summary that is made by the same code while it records. Facts and sections are constant and may
 * be read from any thread; a summary belongs to one thread at a time.
 */
#ifndef BARO_SUMMARY_H
#define BARO_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/metric.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_summary; /**< the facts of one recording: baro_fold_summary() of baro/fold.h */

/**
 * Sets the carbon intensity of the electricity. The section "carbon" then has values: energy times intensity. It
 * changes nothing on the tape.
 * @param grams_per_kwh grams of CO2 equivalents per kilowatt hour; 0: not known, as in a new summary. A negative number
 * counts as 0.
 */
BARO_API void baro_summary_set_carbon(struct baro_summary *summary, double grams_per_kwh);

/* ---- what a summary has: the same for all summaries ---- */
/** The type of a fact: which member of struct baro_value has its value. */
enum baro_fact_type {
    BARO_FACT_UNSIGNED, /**< u64 */
    BARO_FACT_SIGNED,   /**< i64 */
    BARO_FACT_REAL,     /**< real */
    BARO_FACT_BOOLEAN,  /**< u64: 0 or 1 */
    BARO_FACT_TEXT,     /**< text */
    BARO_FACT_TIME      /**< i64: nanoseconds since 1970-01-01, UTC */
};

/** How a fact is computed, and so whether values of several recordings can be added. Later versions may add some. */
enum baro_fact_semantics {
    BARO_FACT_PROPERTY, /**< a text, a flag, a limit, or a number that is not measured over time */
    BARO_FACT_INSTANT,  /**< a time at which something happened */
    BARO_FACT_SUM,      /**< counted over time: values of several recordings can be added */
    BARO_FACT_PEAK,     /**< the highest value, or a value at the time of the highest */
    BARO_FACT_LEAST,    /**< the lowest value */
    BARO_FACT_MEAN,     /**< an average over time, or per second */
    BARO_FACT_SHARE     /**< a share of a whole, 0 to 1; beyond that if two measurements disagree */
};

/** Whether a larger value is better or worse when two recordings of the same work are compared. */
enum baro_fact_trend {
    BARO_TREND_NONE,          /**< neither, or it depends: cores_mean, busy time of a GPU */
    BARO_TREND_MORE_IS_WORSE, /**< time, memory, bytes, waiting, errors, and what the recording lacks */
    BARO_TREND_MORE_IS_BETTER /**< memory that was available */
};

/** A fact of a summary, of a header or of a phase: its number among these, from 0 on; -1: none. */
typedef int baro_fact_id;
/** A section of a summary: its number, from 0 on; -1: none. */
typedef int baro_section_id;

/** A fact. Members may be added at the end: take what baro_summary_fact() returns, make no arrays. */
struct baro_fact {
    baro_section_id section;            /**< number of its section; -1: it is a fact of a header or of a phase */
    const char *name;                   /**< such as "cpu_ns"; the unit is in the name */
    const char *help;                   /**< what it means */
    enum baro_fact_type type;           /**< which member of struct baro_value has its value */
    enum baro_unit unit;                /**< the unit of its value */
    enum baro_fact_semantics semantics; /**< how it is computed */
    enum baro_fact_trend trend;         /**< whether a larger value is better or worse */
    bool in_json;                       /**< baro_summary_json() writes it */
};

/** A section. Members may be added at the end: take what baro_summary_section() returns, make no arrays. */
struct baro_section {
    const char *name;        /**< "job", "host.pressure", ...; "" for facts about the recording as a whole */
    const char *help;        /**< what its facts are about */
    bool is_table;           /**< it has any number of rows; else exactly one */
    baro_fact_id first_fact; /**< number of its first fact */
    int fact_count;          /**< how many facts it has, from first_fact on */
};

/** @return how many sections there are. */
BARO_API int baro_summary_section_count(void);
/** @return section @p section, a constant; NULL if there is none. */
BARO_API const struct baro_section *baro_summary_section(baro_section_id section);
/** @return the section with this name, or -1. */
BARO_API baro_section_id baro_summary_section_find(const char *name);
/** @return how many facts there are, in the order of their sections. */
BARO_API int baro_summary_fact_count(void);
/** @return fact @p fact, a constant; NULL if there is none. */
BARO_API const struct baro_fact *baro_summary_fact(baro_fact_id fact);
/** @return the number of the fact with this name in this section, or -1. */
BARO_API baro_fact_id baro_summary_fact_find(const char *section, const char *name);
/** @return "property", "instant", "sum", "peak", "least", "mean", "share"; "unknown" for another number. */
BARO_API const char *baro_fact_semantics_name(enum baro_fact_semantics semantics);
/** @return "none", "more_is_worse", "more_is_better"; "unknown" for another number. */
BARO_API const char *baro_fact_trend_name(enum baro_fact_trend trend);

/**
 * Finds the key of a table: the fact by which a program that compares two summaries matches their rows. It is a text,
 * such as "name" for commands, tasks and GPUs, or "path" for directories. For targets it is "pid"; for the course it is
 * "t_ns", which its rows are ordered by. Two rows have the same key only if a directory or GPU was replaced by another
 * one with the same name.
 * @return the number of the fact; -1 for a section that is not a table, and for the arguments of the command, which
 * only their position identifies.
 */
BARO_API baro_fact_id baro_summary_key(baro_section_id section);

/* ---- the header of a tape as facts ---- */
/** @return how many facts a header has. They are in no section (-1). */
BARO_API int baro_header_fact_count(void);
/** @return fact @p fact of headers, a constant; NULL if there is none. */
BARO_API const struct baro_fact *baro_header_fact(baro_fact_id fact);
/** @return the number of the fact of headers with this name, such as "host" or "argument", or -1. */
BARO_API baro_fact_id baro_header_fact_find(const char *name);
/** @return how many values a fact has: any number for "argument" and "target", else 1. */
BARO_API size_t baro_header_rows(const struct baro_header *header, baro_fact_id fact);

/* ---- the values of a summary ---- */
/** How exact a value is: bits of baro_value.flags. */
enum baro_value_flag {
    BARO_VALUE_LOWER_BOUND = 1, /**< it may be too small */
    BARO_VALUE_ESTIMATE = 2,    /**< it may be too small or too large */
    BARO_VALUE_UPPER_BOUND = 4  /**< it may be too large */
};

/** How to show the flags of a value, before it. */
enum baro_prefix {
    BARO_PREFIX_WORDS, /**< "at least ", "about ", "at most " */
    BARO_PREFIX_ASCII, /**< ">=", "~", "<=" */
    BARO_PREFIX_SYMBOL /**< the same as UTF-8: U+2265, U+2248, U+2264 */
};

/** @return what to print before a value with these flags, a constant; "" for an exact value. */
BARO_API const char *baro_value_prefix(unsigned flags, enum baro_prefix as);

/** @return the word for these flags in JSON, a constant: "lower_bound", "upper_bound", "estimate"; NULL if the value is
 * exact. What may be too small and too large is an estimate. */
BARO_API const char *baro_value_mark(unsigned flags);

/** A value of a fact. The caller allocates the struct; its text is borrowed. */
struct baro_value {
    enum baro_absent absent; /**< BARO_PRESENT (0), or why the value is absent; all other members are 0 then */
    unsigned flags;          /**< bits of enum baro_value_flag */
    uint64_t u64;            /**< the value, if the type of the fact is unsigned or boolean */
    int64_t i64;             /**< the value, if the type is signed or a time */
    double real;             /**< the value, if the type is real */
    const char *text;        /**< the value, if the type is text: bytes terminated by NUL, borrowed until the summary is
                                  changed or freed */
};

/** @return how many rows a section has: 1 unless it is a table; 0 if there is no such section. */
BARO_API size_t baro_summary_rows(const struct baro_summary *summary, baro_section_id section);
/**
 * Reads the value of a fact.
 * @param row from 0 to baro_summary_rows() - 1.
 * @param ret gets the value, or if it is absent the reason and zeros.
 * @return ret->absent: BARO_PRESENT (0), or why the value is absent; BARO_ABSENT_UNSUPPORTED for a fact or a row that
 * does not exist.
 */
BARO_API enum baro_absent baro_summary_value(const struct baro_summary *summary, baro_fact_id fact, size_t row,
                                             struct baro_value *ret);
/**
 * Finds a row of a table by its key: the same command in another summary.
 * @param section a table whose key (baro_summary_key()) is a text, as of commands, tasks and directories
 * @param key the key, terminated by NUL, as in baro_value.text
 * @return the first row with this key; -1 if there is none.
 */
BARO_API ptrdiff_t baro_summary_row_find(const struct baro_summary *summary, baro_section_id section, const char *key);
/**
 * Converts a value to a number, whatever the type of its fact, for programs that compare, add up or draw values. Above
 * 2^53 the result is rounded.
 * @param fact of a summary, a header or a phase
 * @return NAN for a text and for an absent value; 0 or 1 for a flag; nanoseconds since 1970 for a time.
 */
BARO_API double baro_fact_real(const struct baro_fact *fact, const struct baro_value *value);

/**
 * Reads the value of a fact of a header.
 * @param row from 0 to baro_header_rows() - 1.
 * @param ret gets the value, or if it is absent the reason and zeros. Its text is borrowed from the header.
 * @return ret->absent: BARO_PRESENT (0); BARO_ABSENT_UNKNOWN for what the recorder did not know or was not given;
 * BARO_ABSENT_UNSUPPORTED for a fact or a row that does not exist.
 */
BARO_API enum baro_absent baro_header_value(const struct baro_header *header, baro_fact_id fact, size_t row,
                                            struct baro_value *ret);

/* ---- as JSON ---- */
/**
 * Called with each piece of text: @p len bytes, borrowed during the call.
 * @return 0, or a negative code, with which the function that writes ends.
 */
typedef int baro_sink(void *context, const char *text, size_t len);

/**
 * Writes the summary as one JSON object and a newline; docs/json.md describes its members.
 * @param tape_name the value of "tape"; NULL: null.
 * @param context given to @p sink.
 * @return 0; -ENOMEM; the negative code of @p sink.
 */
BARO_API int baro_summary_json(const struct baro_summary *summary, const char *tape_name, baro_sink *sink,
                               void *context, struct baro_error *err);

#ifdef __cplusplus
}
#endif
#endif
