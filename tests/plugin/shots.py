# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of Wireshark with the plugin, of a recording and its windows, by display.py."""
import os
import re
import shutil
import time

import host
from display import HEIGHT, WIDTH, as_user

COMPLAINTS = ('Could not compile', 'Error loading', 'rror in', 'not a valid', 'unregistered')
DIALOG = 1104, 622
FRAME = 2, 25  # what openbox adds to a window
MAIN = None  # the main window, which is named for its file

# window, its name, Wireshark's arguments, keys that bring it. The menu of statistics ends with ours; the
# trees in it have no -z.
MENU = ('alt+s', 'Up', 'Right')
WINDOWS = {
    'packets': (MAIN, [], ()),
    'credits': ('Credits', [], (*MENU, 'Down', 'Return')),
    'types': ('Message types', [], (*MENU, 'Down', 'Down', 'Return')),
    'chunks': ('Chunks', [], (*MENU, 'Return')),
    'times': ('Service response time', [], (*MENU, 'Down', 'Down', 'Down', 'Return')),
    'graph': ('I/O Graphs', ['-z', 'io,stat'], ()),
    'filter': (MAIN, ['-Y', 'rpcrdma.credits.in_flight > 0'], ()),
    'decode-as': ('Decode As', ['-d', 'rpcrdma.qpn==17,rpcrdma'], ('ctrl+shift+u',)),
}


def recording(path):
    """A copy, under its own name, where nobody may read it, too."""
    copy = os.path.join(host.SCRATCH, os.path.basename(path))
    shutil.copyfile(path, copy)
    os.chmod(copy, 0o644)
    return copy


def open_tree(display, window, capture, frame):
    """Unfolds what is below RPC-over-RDMA in the packet's tree."""
    layers = host.fields(capture, 'frame.protocols', where=f'frame.number == {frame}')[0][0][0].split(':')
    above = [name for name in layers[:layers.index('rpcrdma')] if name != 'ethertype']
    display.do('mousemove', '--window', window, '300', str(HEIGHT * 3 // 4), 'click', '1')
    display.do('key', '--delay', '50', 'Home', *['Down'] * (len(above) + 1), 'shift+Right')
    time.sleep(1)


def place(display, window, width, height):
    """Of that size with its frame, and where all of it is on the display, whichever corner the window manager
    takes for the window's."""
    size = str(width - FRAME[0]), str(height - FRAME[1])
    display.do('windowmove', window, '10', '30', 'windowsize', window, *size, 'windowactivate', window)


def take(display, capture, frame, name, path):
    """Writes window `name` of a capture, with its frame, to path. Fails where it does not come, is blank, or
    Wireshark complains of the profile."""
    title, arguments, keys = WINDOWS[name]
    log = os.path.join(host.SCRATCH, 'log')
    with open(log, 'wb') as out:
        wireshark = as_user(['wireshark', '-C', 'RPC-over-RDMA', '-r', capture, '-g', frame, *arguments],
                            display.env, stdout=out, stderr=out)
    try:
        main = display.window('^' + re.escape(os.path.basename(capture)))
        place(display, main, WIDTH, HEIGHT)
        if keys:
            time.sleep(3)
            display.do('windowactivate', main, 'key', '--delay', '200', *keys)
        window = main if title is MAIN else display.window(title)
        if window != main:
            place(display, window, *DIALOG)
        time.sleep(5)  # until all is drawn; nothing tells when
        if window == main:
            open_tree(display, window, capture, frame)
        display.picture(path, window)
    finally:
        wireshark.terminate()
        wireshark.wait()
    with open(log, encoding='utf-8', errors='replace') as lines:
        bad = [line for line in lines if any(word in line for word in COMPLAINTS)]
    if bad:
        raise SystemExit(''.join(bad))
    print(path, flush=True)
