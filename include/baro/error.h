/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Errors of libbaro.
 *
 * Every function that can fail returns 0 or a positive count on success and a negative code on failure (baro/baro.h has
 * the contract of all functions). A code is a negated errno value where the kernel gave one, or one of enum baro_code.
 * The text is for people: one line, what and where, without a newline. The caller owns the struct and may pass NULL
 * where it wants no text. Nothing is kept in thread-local or global state.
 */
#ifndef BARO_ERROR_H
#define BARO_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BARO_API __attribute__((visibility("default")))
#else
#define BARO_API /**< of what libbaro exports */
#endif

/** Codes that no errno value says well. They lie outside the range of errno. */
enum baro_code {
    BARO_E_NOT_TAPE = -5001, /**< the file is not a tape */
    BARO_E_VERSION = -5002,  /**< the tape needs a newer reader, or is older than 0.1 */
    BARO_E_CORRUPT = -5003,  /**< damaged beyond what recovery can step over */
    BARO_E_EMPTY = -5004,    /**< a tape without a single whole frame */
    BARO_E_SYNTAX = -5005,   /**< text that can't be parsed: a unit, a time, a metric, kernel text */
    BARO_E_RANGE = -5006,    /**< a value outside what is allowed */
    BARO_E_ENDED = -5007     /**< nothing more will come: the tape is not written any more */
};

/** What failed: the caller owns it, and may pass NULL where it takes no interest. */
struct baro_error {
    int code;       /**< the negative code that the function returned, 0 if there was none */
    char text[256]; /**< one line for people, NUL-terminated */
};

/** No error. */
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
