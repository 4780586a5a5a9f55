/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Attributes: named values with a type. Events and entities have them.
 */
#ifndef BARO_ATTRIBUTE_H
#define BARO_ATTRIBUTE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Types of attributes. Later versions may add types. */
enum baro_attribute_type {
    BARO_ATTRIBUTE_UNSIGNED, /**< u64 */
    BARO_ATTRIBUTE_SIGNED,   /**< i64 */
    BARO_ATTRIBUTE_TEXT,     /**< text */
    BARO_ATTRIBUTE_REAL,     /**< real */
    BARO_ATTRIBUTE_BOOLEAN,  /**< u64: 0 or 1 */
    /**
     * text: one JSON value (RFC 8259) that no other type can hold: an object, an array, null, an integer beyond 64
     * bits, or a string that contains NUL. It is UTF-8 without blanks between tokens, with at most 16 levels. Numbers
     * are spelled as the job spelled them. NaN, Infinity and -Infinity, which Python's json module writes, are allowed
     * as numbers.
     */
    BARO_ATTRIBUTE_JSON
};

/** An attribute. The caller allocates the struct; its texts are borrowed from the event, row or timeline. */
struct baro_attribute {
    const char *name;              /**< "signal", "duration_ns", ...; the unit is part of the name */
    enum baro_attribute_type type; /**< which of the following members has the value */
    uint64_t u64;                  /**< 0 unless the type is unsigned or boolean */
    int64_t i64;                   /**< 0 unless it is signed */
    const char *text;              /**< bytes terminated by NUL; NULL unless the type is text or JSON */
    double real;                   /**< 0 unless it is a real number */
};

#ifdef __cplusplus
}
#endif
#endif
