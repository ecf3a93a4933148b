# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark as a judge (tests/tools/tshark.py) is Wireshark as released, whatever is installed."""
import os
import unittest.mock

import host


def protocols(lines):
    return {name for line in lines for name in line.split(':')}


class JudgeTest(host.PluginTest):
    def test_no_plugin(self):
        arguments = ('-T', 'fields', '-e', 'frame.protocols')
        path = host.capture('roce-nfs3-mini')
        ours = protocols(host.run('-r', path, *arguments)[0].splitlines())
        self.assertIn('rpcrdma', ours)
        with unittest.mock.patch.dict(os.environ, host.environment()):  # somebody's plugin folder and profile
            theirs = protocols(host.tshark.read(path, *arguments))
        self.assertIn('infiniband', theirs)
        self.assertNotIn('rpcrdma', theirs)

    def test_no_profile(self):
        """What somebody prefers changes nothing."""
        config = os.path.join(self.folder, 'config')
        os.mkdir(config)
        with open(os.path.join(config, 'disabled_protos'), 'w', encoding='ascii') as file:
            file.write('infiniband\n')
        path = host.capture('roce-nfs3-mini')
        with unittest.mock.patch.dict(os.environ, {'WIRESHARK_CONFIG_DIR': config}):
            self.assertGreater(len(host.tshark.read(path, '-Y', 'infiniband')), 100)


if __name__ == '__main__':
    host.unittest.main()
