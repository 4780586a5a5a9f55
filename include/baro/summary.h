/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The summary of a recording: what `baro summary` prints, as data.
 *
 * A summary is a list of facts in sections. A section has one row ("job", "limits", "host.pressure"), or it is a table
 * with any number of rows ("commands"). A fact is a column of its section: its name, its type, its unit and what it
 * means are constant; its value belongs to a summary and a row. One loop reads all of it:
 *
 *     for (int f = 0; f < baro_summary_fact_count(); f++) {
 *         const struct baro_fact *fact = baro_summary_fact(f);
 *         for (size_t row = 0; row < baro_summary_rows(summary, fact->section); row++) {
 *             struct baro_value v;
 *             if (baro_summary_value(summary, f, row, &v) == BARO_PRESENT)
 *                 ...
 *
 * and one line reads one of them:
 *
 *     baro_summary_value(summary, baro_summary_fact_find("job", "cpu_ns"), 0, &v);
 *
 * The recorder makes its summary by the same code while it records, so both are the same. Facts and sections are
 * constant and may be read from any thread; a summary belongs to one thread at a time.
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

struct baro_summary;

/* ---- making a summary ---- */
/**
 * Reads @p tape from its beginning to its end (what is there of it) and sums it up. The cursor is at the end
 * afterwards.
 * @return 0 and a summary, to be freed with baro_summary_free(); negative on a read error or -ENOMEM.
 */
BARO_API int baro_summary_of_tape(struct baro_tape *tape, struct baro_summary **ret, struct baro_error *err);

/** NULL is allowed. */
BARO_API void baro_summary_free(struct baro_summary *summary);

/**
 * Begins a summary that is kept up while records arrive, as in a live view.
 * @param header borrowed during the call.
 * @return 0 and a summary without records, to be freed with baro_summary_free(); -ENOMEM.
 */
BARO_API int baro_summary_new(struct baro_summary **ret, const struct baro_header *header, struct baro_error *err);
/** Adds one record: in the order of the tape, each once. Allocates nothing once its tables have grown. */
BARO_API void baro_summary_add(struct baro_summary *summary, const struct baro_record *record);
/**
 * Adds all records from the position of the cursor to the end of what is there now. To follow a tape, call this and
 * baro_summary_finish() each time baro_tape_wait() returns 1.
 * @return 0, or negative on a read error: what was read before it is in the summary.
 */
BARO_API int baro_summary_add_tape(struct baro_summary *summary, struct baro_tape *tape, struct baro_error *err);
/**
 * Counts the processes that still live under their commands and sorts the commands. Values are to be read after this
 * call. More records may be added afterwards; then call it again.
 */
BARO_API void baro_summary_finish(struct baro_summary *summary);
/**
 * Says what a kilowatt hour of the grid emits: from then on the section "carbon" has values, which are energy times
 * that. Nothing of it is on the tape.
 * @param grams_per_kwh of CO2 equivalents; 0: not known, as in a new summary. Less than that is taken as 0.
 */
BARO_API void baro_summary_set_carbon(struct baro_summary *summary, double grams_per_kwh);

/* ---- what a summary has: the same for all summaries ---- */
/** Which member of struct baro_value has the value of a fact. */
enum baro_fact_type {
    BARO_FACT_UNSIGNED, /**< u64 */
    BARO_FACT_SIGNED,   /**< i64 */
    BARO_FACT_REAL,     /**< real */
    BARO_FACT_BOOLEAN,  /**< u64: 0 or 1 */
    BARO_FACT_TEXT,     /**< text */
    BARO_FACT_TIME      /**< i64: nanoseconds since 1970-01-01, UTC */
};

/** How the number of a fact came about, and so what may be done with it. Later versions may add some. */
enum baro_fact_semantics {
    BARO_FACT_PROPERTY, /**< a text, a flag, a limit, a number of something: it is not measured over time */
    BARO_FACT_INSTANT,  /**< when something was */
    BARO_FACT_SUM,      /**< counted over the time: sums of several recordings make sense */
    BARO_FACT_PEAK,     /**< the highest value, or what is known of that moment */
    BARO_FACT_LEAST,    /**< the lowest value */
    BARO_FACT_MEAN,     /**< an average over time, or per second */
    BARO_FACT_SHARE     /**< a part of a whole, 0 to 1; outside of that where two measurements disagree */
};

/** What a larger number means when two recordings of the same work are compared. */
enum baro_fact_trend {
    BARO_TREND_NONE,          /**< neither, or it depends: cores_mean, busy time of a GPU */
    BARO_TREND_MORE_IS_WORSE, /**< time, memory, bytes, waiting, errors, and what the recording lacks */
    BARO_TREND_MORE_IS_BETTER /**< memory that was available */
};

/** Members may be added at the end: take what baro_summary_fact() returns, make no arrays. */
struct baro_fact {
    int section;                        /**< of baro_summary_section() */
    const char *name;                   /**< e.g. "cpu_ns"; the unit is in the name */
    const char *help;                   /**< what it means */
    enum baro_fact_type type;           /**< where a value of it is */
    enum baro_unit unit;                /**< what it counts */
    enum baro_fact_semantics semantics; /**< how its number came about */
    enum baro_fact_trend trend;         /**< which way it gets worse */
    bool in_json;                       /**< baro_summary_json() writes it */
};

/** Members may be added at the end. */
struct baro_section {
    const char *name; /**< "job", "host.pressure", ...; "" for facts about the recording as a whole */
    const char *help; /**< what its facts are about */
    bool is_table;    /**< any number of rows; else exactly one */
    int first_fact;   /**< its facts are those from first_fact on, */
    int fact_count;   /**< so many */
};

/** @return how many sections there are. */
BARO_API int baro_summary_section_count(void);
/** @return a section, constant; NULL if there is no such one. */
BARO_API const struct baro_section *baro_summary_section(int section);
/** @return the section with this name, or -1. */
BARO_API int baro_summary_section_find(const char *name);
/** @return how many facts there are; sections in order, facts in the order of their section. */
BARO_API int baro_summary_fact_count(void);
/** @return a fact, constant; NULL if there is no such one. */
BARO_API const struct baro_fact *baro_summary_fact(int fact);
/** @return the fact with this name in this section, or -1. */
BARO_API int baro_summary_fact_find(const char *section, const char *name);
/** @return "property", "instant", "sum", "peak", "least", "mean", "share"; "unknown" for another number. */
BARO_API const char *baro_fact_semantics_name(enum baro_fact_semantics semantics);
/** @return "none", "more_is_worse", "more_is_better"; "unknown" for another number. */
BARO_API const char *baro_fact_trend_name(enum baro_fact_trend trend);

/**
 * Which fact tells the rows of a table apart, so that rows of two summaries can be compared: "name" of commands and
 * tasks, "path" of directories, "t_ns" of the course.
 * @return the fact; -1 for a section that is no table, and for the arguments of the command, which have their place
 * alone.
 */
BARO_API int baro_summary_key(int section);

/* ---- the header of a tape as facts ---- */
/** @return how many facts a header has: constant, as those of baro_summary_fact(), but of no section (-1). */
BARO_API int baro_header_fact_count(void);
/** @return a fact, constant; NULL if there is no such one. */
BARO_API const struct baro_fact *baro_header_fact(int fact);
/** @return the fact with this name, such as "host" or "argument", or -1. */
BARO_API int baro_header_fact_find(const char *name);
/** @return how many values a fact has: 1, but of "argument" and "target" any number. */
BARO_API size_t baro_header_rows(const struct baro_header *header, int fact);

/* ---- what this summary has ---- */
/** How exact a value is: bits of baro_value.flags. */
enum baro_value_flag {
    BARO_VALUE_LOWER_BOUND = 1, /**< it may be too small */
    BARO_VALUE_ESTIMATE = 2,    /**< it may be wrong either way */
    BARO_VALUE_UPPER_BOUND = 4  /**< it may be too large */
};

/** How a mark is written before a value. */
enum baro_mark {
    BARO_MARK_WORDS, /**< "at least ", "about ", "at most " */
    BARO_MARK_ASCII, /**< ">", "~", "<" */
    BARO_MARK_SYMBOL /**< the same as UTF-8: U+2265, U+2248, U+2264 */
};

/** @return what to write before a value with these flags; "" for one that is exact. */
BARO_API const char *baro_value_mark(unsigned flags, enum baro_mark as);

/** A value of a fact. The caller owns the struct; the text is borrowed. */
struct baro_value {
    enum baro_absent absent; /**< BARO_PRESENT (0), or why there is no value: all others are 0 then */
    unsigned flags;          /**< enum baro_value_flag */
    uint64_t u64;            /**< which of these four has the value is said by the type of the fact */
    int64_t i64;             /**< signed */
    double real;             /**< in its unit */
    const char *text;        /**< borrowed until the summary is changed or freed: bytes that end with NUL */
};

/** @return how many rows a section has: 1 unless it is a table; 0 if there is no such section. */
BARO_API size_t baro_summary_rows(const struct baro_summary *summary, int section);
/**
 * Reads a fact.
 * @param row from 0 to baro_summary_rows() - 1.
 * @return BARO_PRESENT (0), or the reason why there is no value, which is in @p ret as well; BARO_ABSENT_UNSUPPORTED
 * for a fact or a row that does not exist.
 */
BARO_API enum baro_absent baro_summary_value(const struct baro_summary *summary, int fact, size_t row,
                                             struct baro_value *ret);
/**
 * Finds a row of a table by its key: the same command in another summary.
 * @param section a table whose key (baro_summary_key()) is a text, as of commands, tasks and directories
 * @param key bytes that end with NUL, as baro_value.text has them
 * @return the row, or -1: there is none.
 */
BARO_API ptrdiff_t baro_summary_row_find(const struct baro_summary *summary, int section, const char *key);
/**
 * A value as a number, whatever the type of its fact: to compare, to sum up, to draw. From 2^53 on it is rounded.
 * @param fact of a summary, a header or a phase
 * @return NAN of a text, and where there is no value; of a flag 0 or 1; of a time nanoseconds since 1970.
 */
BARO_API double baro_fact_real(const struct baro_fact *fact, const struct baro_value *value);

/**
 * Reads a fact of a header.
 * @param row from 0 to baro_header_rows() - 1.
 * @param ret its text is borrowed from the header.
 * @return BARO_PRESENT (0), or why there is no value, which is in @p ret as well: BARO_ABSENT_UNKNOWN for what the
 * recorder did not know or was not given, BARO_ABSENT_UNSUPPORTED for a fact or a row that does not exist.
 */
BARO_API enum baro_absent baro_header_value(const struct baro_header *header, int fact, size_t row,
                                            struct baro_value *ret);

/* ---- as text for programs ---- */
/** Takes text as it is made. @return 0, or a negative code, which ends the writing and is returned. */
typedef int baro_sink(void *context, const char *text, size_t len);

/**
 * Writes the summary as one JSON object with a newline at its end; docs/json.md has its members.
 * @param tape_name the value of "tape"; NULL: null.
 */
BARO_API int baro_summary_json(const struct baro_summary *summary, const char *tape_name, baro_sink *sink,
                               void *context, struct baro_error *err);

#ifdef __cplusplus
}
#endif
#endif
