/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Errors of libbaro.
 *
 * Every function that can fail returns 0 or a positive count on success and a negative code on failure (baro/baro.h
 * describes the results of all functions). A code is a negated errno value (errno(3)) or one of enum baro_code. The
 * text says in one line what failed and where. The library keeps no error in thread-local or global state.
 */
#ifndef BARO_ERROR_H
#define BARO_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BARO_API __attribute__((visibility("default")))
#else
#define BARO_API /**< marks what libbaro exports */
#endif

/** Codes for failures that no errno value describes. They are outside the range of errno. */
enum baro_code {
    BARO_E_NOT_TAPE = -5001, /**< the file is not a tape */
    BARO_E_VERSION = -5002,  /**< the tape needs a newer reader, or has a format from before version 1 */
    BARO_E_CORRUPT = -5003,  /**< the damage is such that the tape cannot be read */
    BARO_E_EMPTY = -5004,    /**< the tape has no whole frame */
    BARO_E_SYNTAX = -5005,   /**< text that cannot be parsed: a unit, a time, a metric, kernel text */
    BARO_E_RANGE = -5006,    /**< a value outside the allowed range */
    BARO_E_ENDED = -5007     /**< no more records will come: nothing writes the tape */
};

/** What failed. The caller allocates it; a caller that wants no text passes NULL. */
struct baro_error {
    int code;       /**< the negative code that the function returned; 0 if none has failed */
    char text[256]; /**< one line for people, without a newline, terminated by NUL */
};

/** Initializes a struct baro_error: no error. */
#define BARO_ERROR_INIT                                                                                                \
    {                                                                                                                  \
        0,                                                                                                             \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

#ifdef __cplusplus
}
#endif
#endif
