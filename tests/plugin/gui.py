# SPDX-License-Identifier: GPL-2.0-or-later
"""gui.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES PROFILE FOLDER [RECORDING [FRAME]]

Opens a recording in Wireshark on a display of its own (Xvfb) with the profile, and writes pictures of
the packet list and tree, the statistics and the I/O graph into FOLDER, for somebody to look at. Needs
wireshark, Xvfb, xdotool, openbox and ImageMagick. Fails where a window does not come, is blank, or
Wireshark complains of the profile."""
import os
import sys

import host
import shots
from display import Display, need_programs

PROFILE, FOLDER = sys.argv[1:3]
RECORDING = sys.argv[3] if len(sys.argv) > 3 else 'roce-nfs42-mini'
FRAME = sys.argv[4] if len(sys.argv) > 4 else '130'


def main():
    os.makedirs(FOLDER, exist_ok=True)
    host.take_profile(PROFILE)
    capture = shots.recording(os.path.join(host.CAPTURES, RECORDING, 'capture.pcap'))
    with Display(FOLDER) as display:
        for name in shots.WINDOWS:
            shots.take(display, capture, FRAME, name, os.path.join(FOLDER, name + '.png'))


if __name__ == '__main__':
    need_programs()
    main()
