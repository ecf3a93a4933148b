# SPDX-License-Identifier: GPL-2.0-or-later
"""gui.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES PROFILE FOLDER [RECORDING [FRAME]]

Opens a recording in Wireshark on a display of its own (Xvfb) with the profile, and writes pictures of
the packet list and tree, the statistics and the I/O graph into FOLDER, for somebody to look at. Needs
wireshark, Xvfb, xdotool, openbox and ImageMagick. Fails where a window does not come, is blank, or
Wireshark complains of the profile."""
import os
import sys
import time

import host
from display import HEIGHT, WIDTH, Display, as_user, need_programs

PROFILE, FOLDER = sys.argv[1:3]
RECORDING = sys.argv[3] if len(sys.argv) > 3 else 'roce-nfs42-mini'
FRAME = sys.argv[4] if len(sys.argv) > 4 else '130'
COMPLAINTS = ('Could not compile', 'Error loading', 'rror in', 'not a valid', 'unregistered')

# name, Wireshark's arguments, the window's name, keys that bring it. The menu of statistics ends with
# ours; the trees in it have no -z.
MENU = ('alt+s', 'Up', 'Right')
SHOTS = (
    ('packets', ['-g', FRAME], 'capture.pcap', ()),
    ('credits', [], 'Credits', (*MENU, 'Down', 'Return')),
    ('types', [], 'Message types', (*MENU, 'Down', 'Down', 'Return')),
    ('chunks', [], 'Chunks', (*MENU, 'Return')),
    ('times', [], 'Service response time', (*MENU, 'Down', 'Down', 'Down', 'Return')),
    ('graph', ['-z', 'io,stat'], 'I/O Graphs', ()),
    ('filter', ['-g', FRAME, '-Y', 'rpcrdma.credits.in_flight > 0'], 'capture.pcap', ()),
    ('decode-as', ['-g', FRAME, '-d', 'rpcrdma.qpn==17,rpcrdma'], 'Decode As', ('ctrl+shift+u',)),
)


def open_tree(display, window, capture):
    """Unfolds what is below RPC-over-RDMA in the packet's tree."""
    layers = host.fields(capture, 'frame.protocols', where=f'frame.number == {FRAME}')[0][0][0].split(':')
    above = [name for name in layers[:layers.index('rpcrdma')] if name != 'ethertype']
    display.do('mousemove', '--window', window, '300', str(HEIGHT * 3 // 4), 'click', '1')
    display.do('key', '--delay', '50', 'Home', *['Down'] * (len(above) + 1), 'shift+Right')
    time.sleep(1)


def take(display, capture, shot):
    name, arguments, title, keys = shot
    log = os.path.join(host.SCRATCH, 'log')
    with open(log, 'wb') as out:
        wireshark = as_user(['wireshark', '-C', 'RPC-over-RDMA', '-r', capture, *arguments], display.env,
                            stdout=out, stderr=out)
    try:
        main = display.window('capture.pcap')
        display.do('windowmove', main, '0', '0', 'windowsize', main, str(WIDTH), str(HEIGHT - 25))
        if keys:
            time.sleep(3)
            display.do('windowactivate', main, 'key', '--delay', '200', *keys)
        window = display.window(title)
        if window != main:
            display.do('windowsize', window, '1100', '600', 'windowactivate', window)
        time.sleep(5)  # until all is drawn; nothing tells when
        if window == main:
            open_tree(display, window, capture)
        display.picture(os.path.join(FOLDER, name + '.png'))
    finally:
        wireshark.terminate()
        wireshark.wait()
    with open(log, encoding='utf-8', errors='replace') as lines:
        bad = [line for line in lines if any(word in line for word in COMPLAINTS)]
    if bad:
        raise SystemExit(''.join(bad))
    print(os.path.join(FOLDER, name + '.png'), flush=True)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    host.take_profile(PROFILE)
    with Display(FOLDER) as display:
        for shot in SHOTS:
            take(display, host.capture(RECORDING), shot)


if __name__ == '__main__':
    need_programs()
    main()
