# SPDX-License-Identifier: GPL-2.0-or-later
"""The menu entry for a report: where the command is installed, and nowhere else."""
import os
import shutil
import unittest
from unittest import mock

import host

PROBE = os.environ.get('RPCRDMA_FILTERS')  # filters.c


def entries(path):
    """What plugins add to the menus where programs are looked for in that folder."""
    place = os.path.join(host.SCRATCH, 'plugins', host.VERSION, 'epan', 'zz_filters.so')
    shutil.copy(PROBE, place)
    try:
        with mock.patch.dict(os.environ, PATH=path):
            out, err = host.run('-r', host.capture('roce-nfs3-mini'), '-c', '1', status=None)
    finally:
        os.remove(place)
    assert err == '', err
    return [line.split('\t')[1:] for line in out.splitlines() if line.startswith('menu\t')]


@unittest.skipUnless(PROBE, 'no plugin that asks for the menus')
class MenuTest(host.PluginTest):
    def test_installed(self):
        os.symlink(shutil.which('true'), os.path.join(self.folder, 'rpcrdma'))
        self.assertEqual(entries(self.folder), [['Tools', 'RPC-over-RDMA'], ['', 'Report']])

    def test_not_installed(self):
        """And no noise."""
        self.assertEqual(entries(self.folder), [])


if __name__ == '__main__':
    unittest.main()
