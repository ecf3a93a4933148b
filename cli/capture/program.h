/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_PROGRAM_H
#define RPCRDMA_CLI_CAPTURE_PROGRAM_H

/*
 * A package may install a second copy of the command, with the capability to capture and executable
 * by one group only (as Wireshark's packages do with dumpcap): its members capture without root,
 * and nobody else's command has any rights. Named by RPCRDMA_CAPTURE_PROGRAM when the command is
 * built.
 */

/* Goes on as that program where the arguments ask for a capture and the user may run it; returns
 * where they do not or the user may not. */
void capture_program_start(const char *program, int argc, char **argv);

#endif
