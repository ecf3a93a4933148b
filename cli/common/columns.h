/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_COLUMNS_H
#define RPCRDMA_CLI_COMMON_COLUMNS_H

/* Columns that text takes on a terminal: two for what East Asian scripts and emoji are made of,
 * none for what is put over the character before it (Unicode, UAX 11). */

#include <stddef.h>
#include <stdint.h>

unsigned columns_of_character(uint32_t character);

/* Of n bytes of UTF-8, as escape.h shows text. */
size_t columns_of_text(const char *text, size_t n);

#endif
