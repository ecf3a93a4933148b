/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

const struct vector_table flags_vectors = {NULL, 0};
