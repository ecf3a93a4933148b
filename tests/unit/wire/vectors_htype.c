/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

const struct vector_table htype_vectors = {NULL, 0};
