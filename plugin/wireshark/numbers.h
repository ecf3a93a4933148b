/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_NUMBERS_H
#define RPCRDMA_PLUGIN_NUMBERS_H

/*
 * Frames as they were fed, numbered from 1: what is kept of a frame is kept by this number. It is
 * Wireshark's, but for those that a read filter (tshark -2 -R) leaves out: such a frame has its
 * number on the first pass only, and the next one gets the same.
 */

#include "wireshark/compat.h"

void numbers_file(void); /* a file is opened, or closed */

/* On its first visit. False: this very frame was fed before. */
bool numbers_first_visit(const packet_info *pinfo);

/* Of the frame in hand. */
uint32_t numbers_fed(const packet_info *pinfo);

/* Wireshark's number of a frame that was fed; 0: it was left out, or `fed` is 0. */
uint32_t numbers_shown(uint32_t fed);

#endif
