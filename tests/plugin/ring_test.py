# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of a ring buffer: the plugin takes roles and QPs from what set up the connection before the file."""
import os
import subprocess
import unittest

import host

NAMES = ('roce-nfs3-mini', 'iwarp-nfs41-mini')


class RingTest(host.PluginTest):
    def test_connection(self):
        for name in NAMES:
            folder = self.path(name)
            os.mkdir(folder)
            subprocess.run([host.RPCRDMA, 'capture', '-q', '-b', 'filesize:20', '-r', host.capture(name), '-w',
                            os.path.join(folder, 'ring.pcapng')], check=True)
            os.chmod(folder, 0o755)
            names = sorted(os.listdir(folder))
            self.assertGreater(len(names), 3)
            whole = {row for row in map(repr, self.rows(host.capture(name)))}
            for one in names:
                path = os.path.join(folder, one)
                os.chmod(path, 0o644)
                with self.subTest(one):
                    rows = self.rows(path)
                    self.assertTrue(rows)
                    self.assertLessEqual({repr(row) for row in rows}, whole)

    @staticmethod
    def rows(path):
        """Of each message what the set-up says: who opened the connection, and from which QP."""
        return host.fields(path, 'rpcrdma.xid', 'rpcrdma.sender', 'rpcrdma.src_qpn', where='rpcrdma.xid', passes=1)


if __name__ == '__main__':
    unittest.main()
