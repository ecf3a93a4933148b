/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FIELDS_RESULTS_H
#define RPCRDMA_CLI_FIELDS_RESULTS_H

/*
 * The table of what the command works out and prints with --json, beside the protocol's fields
 * (wire/field.h): results.def. `rpcrdma fields` lists both.
 */

#include <stddef.h>

#include "wire/field.h"

enum { RESULT_NAME = 100 };

struct result {
    const char *path; /* "report.causes[].text": object, and keys within it; [] is a list */
    const char *type; /* "uint32", "text", ...; NULL: an object with another one's fields */
    const char *of;   /* which one's */
    const char *title;
    const char *help;
};

extern const struct result results[];
extern const size_t n_results;

/* "rpcrdma.report.causes.text" */
void result_name(const struct result *result, char name[RESULT_NAME]);

/* Where JSON has a field of the protocol: "message.read[].handle". Empty: it has it nowhere. */
void result_place(const struct rpcrdma_field *field, char place[RESULT_NAME]);

#endif
