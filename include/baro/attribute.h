/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Attributes: named values with a type, of events and of entities.
 */
#ifndef BARO_ATTRIBUTE_H
#define BARO_ATTRIBUTE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Later versions may add types. */
enum baro_attribute_type {
    BARO_ATTRIBUTE_UNSIGNED, /**< u64 */
    BARO_ATTRIBUTE_SIGNED,   /**< i64 */
    BARO_ATTRIBUTE_TEXT,     /**< text */
    BARO_ATTRIBUTE_REAL,     /**< real */
    BARO_ATTRIBUTE_BOOLEAN,  /**< u64: 0 or 1 */
    /**
     * text: one JSON value (RFC 8259) of any type, without blanks between its parts: what no other type holds as it was
     * given. An object, an array, null, an integer beyond 64 bits, a string with NUL in it. Numbers are spelled as they
     * were given, and NaN, Infinity and -Infinity, which Python's json module writes, are numbers, too. 16 levels at
     * most, in UTF-8.
     */
    BARO_ATTRIBUTE_JSON
};

/** The member that the type names has the value. */
struct baro_attribute {
    const char *name;              /**< "signal", "duration_ns", ...; the unit is part of the name */
    enum baro_attribute_type type; /**< which of the following has the value */
    uint64_t u64;                  /**< 0 unless the type is unsigned */
    int64_t i64;                   /**< 0 unless it is signed */
    const char *text;              /**< bytes that end with NUL; NULL unless the type is text or JSON */
    double real;                   /**< 0 unless it is a real number */
};

#ifdef __cplusplus
}
#endif
#endif
