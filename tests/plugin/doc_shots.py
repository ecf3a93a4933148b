# SPDX-License-Identifier: GPL-2.0-or-later
"""doc_shots.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES PROFILE FOLDER DOCS [NAME...]

Takes the pictures of docs/wireshark.md anew: all of them, or those named. FOLDER gets the whole windows,
DOCS the pictures, and only when all have been taken. Needs what gui.py needs."""
import os
import subprocess
import sys

import host
import shots
from display import Display, need_programs

PROFILE, FOLDER, DOCS = sys.argv[1:4]
NAMED = sys.argv[4:]
COLOURS = '128'
MINI = 'roce-nfs42-mini/capture.pcap', '130'  # a WRITE's Call
CREDITS = 'sliced/credits-8.pcapng.zst', '3009'  # the eighth Call in flight

# picture, window (shots.py), recording and frame, what is left of the window
PICTURES = (
    ('wireshark', 'packets', MINI, '1500x900+0+0'),
    ('wireshark-filter', 'filter', CREDITS, '1500x500+0+0'),
    ('wireshark-graph', 'graph', CREDITS, '1104x622+0+0'),
    ('wireshark-credits', 'credits', CREDITS, '1104x370+0+0'),
    ('wireshark-times', 'times', MINI, '1104x520+0+0'),
    ('wireshark-decode-as', 'decode-as', CREDITS, '1104x120+0+0'),
)


def reduce(whole, crop, path):
    """Without the time when it was taken: the same picture is the same file."""
    subprocess.run(['convert', whole, '-crop', crop, '+repage', '+dither', '-colors', COLOURS, '-strip',
                    '-define', 'png:exclude-chunks=date,time', 'PNG8:' + path], check=True)
    size = subprocess.run(['identify', '-format', '%wx%h', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    if size != crop.split('+', maxsplit=1)[0]:
        raise SystemExit(f'{path} is {size}, not {crop}: another frame of windows (shots.FRAME)?')


def main():
    os.makedirs(FOLDER, exist_ok=True)
    host.take_profile(PROFILE)
    taken = []
    with Display(FOLDER) as display:
        for picture, window, (recording, frame), crop in PICTURES:
            if NAMED and picture not in NAMED:
                continue
            whole = os.path.join(FOLDER, picture + '.png')
            capture = shots.recording(os.path.join(host.CAPTURES, recording))
            shots.take(display, capture, frame, window, whole)
            taken.append((whole, crop, os.path.join(DOCS, picture + '.png')))
    for one in taken:
        reduce(*one)


if __name__ == '__main__':
    need_programs()
    main()
