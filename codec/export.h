/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_EXPORT_H
#define RPCRDMA_EXPORT_H

/*
 * Conventions of every header of librpcrdma, said once:
 *
 * - Integers in structs are in host byte order; bytes that came from the wire stay big-endian.
 * - Lengths and offsets are in bytes. "captured" (caplen) never exceeds "on the wire" (len).
 * - A pointer into input is borrowed: valid as long as the input is. Nothing is freed by the
 * callee.
 * - Pointers must not be NULL unless the function says so. A broken contract is an assertion, bad
 *   input is a status: truncated (not captured) or malformed (wrong on the wire), never an abort.
 * - What a caller fills in and the library copies (configurations, sinks) begins with its `size`,
 * so that it can grow: fields beyond `size` are defaults, which is NULL, 0 and false for all.
 * - Objects are not locked: one thread at a time per object. There is no global mutable state.
 */
#define RPCRDMA_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define RPCRDMA_BEGIN_DECLS extern "C" {
#define RPCRDMA_END_DECLS }
#else
#define RPCRDMA_BEGIN_DECLS
#define RPCRDMA_END_DECLS
#endif

#endif
