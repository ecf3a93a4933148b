# SPDX-License-Identifier: GPL-2.0-or-later
"""sharkd keeps a file open as the GUI does: frames in any order, again and again; preferences changed
under way; one file after the other. What is shown of a frame is always the same."""
import json
import os
import random
import shutil
import subprocess
import unittest

import host

# pylint: disable=wrong-import-order
import pcap

SHARKD = shutil.which('sharkd')
OURS = ('RPC-over-RDMA', 'Remote Procedure Call', 'Network File System')


class Session:
    """Requests and answers, one line of JSON each."""

    def __init__(self):
        self.process = subprocess.Popen([SHARKD, '-'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=host.environment(), **host.tshark.as_nobody())
        self.id = 0

    def ask(self, method, **params):
        self.id += 1
        request = {'jsonrpc': '2.0', 'id': self.id, 'method': method}
        if params:
            request['params'] = params
        self.process.stdin.write(json.dumps(request).encode() + b'\n')
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f'sharkd ended at {request}')
            if line.startswith(b'{'):
                answer = json.loads(line)
                if 'error' in answer:
                    raise AssertionError(f'{request}: {answer["error"]}')
                return answer['result']

    def load(self, name):
        self.ask('load', file=host.capture(name))

    def list(self):
        return self.ask('frames')

    def tree(self, frame):
        """What is of ours: the dissectors below know times since the frame shown before, and such."""
        tree = self.ask('frame', frame=frame, proto=True)['tree']
        return [node for node in tree if node['l'].startswith(OURS)]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@unittest.skipUnless(SHARKD, 'sharkd is not installed')
class StateTest(host.PluginTest):
    def session(self):
        session = Session()
        self.addCleanup(session.close)
        return session

    def picture(self, session):
        """All of a file that was just loaded."""
        frames = [row['num'] for row in session.list()]
        return session.list(), {frame: session.tree(frame) for frame in frames}

    def fresh(self, name):
        session = self.session()
        session.load(name)
        return self.picture(session)

    def test_any_order(self):
        listed, trees = self.fresh('roce-nfs42-mini')
        text = json.dumps(trees)
        self.assertIn('RPC-over-RDMA, NFS V4 COMPOUND Call', text)
        self.assertIn('Network File System', text)
        session = self.session()
        session.load('roce-nfs42-mini')
        order = list(trees) * 2
        random.Random(7).shuffle(order)
        for frame in order:
            self.assertEqual(session.tree(frame), trees[frame], frame)
        self.assertEqual(session.list(), listed)

    def test_file_after_file(self):
        names = ('roce-nfs3-mini', 'iwarp-nfs41-mini')
        want = {name: self.fresh(name) for name in names}
        session = self.session()
        for name in (*names, *names, names[1]):
            session.load(name)
            self.assertEqual(self.picture(session), want[name], name)

    def test_preference_changed(self):
        session = self.session()
        session.load('roce-nfs3-mini')
        before = self.picture(session)
        session.ask('setconf', name='rpcrdma.put_together', value='false')
        session.load('roce-nfs3-mini')
        without = self.picture(session)
        self.assertNotEqual(without, before)
        session.ask('setconf', name='rpcrdma.put_together', value='true')
        session.load('roce-nfs3-mini')
        self.assertEqual(self.picture(session), before)

    def test_preferences_changed_while_loaded(self):
        """Each, while the file is open: frames are shown and filtered for by what is kept of it. Back as they
        were, a reload shows what it showed before."""
        defaults = {'ports': '20049', 'dialect': 'auto', 'credits': 'auto', 'put_together': 'true', 'memory': '256',
                    'old_names': 'true', 'leave_version1': 'false'}
        others = {'ports': '1-3', 'dialect': 'ietf-07', 'credits': 'none', 'put_together': 'false', 'memory': '0',
                  'old_names': 'false', 'leave_version1': 'true'}
        for name in ('roce-nfs42-mini', 'iwarp-nfs41-mini'):
            session = self.session()
            session.load(name)
            before = self.picture(session)
            frames = list(before[1])
            for preference, value in others.items():
                with self.subTest(name, preference=preference):
                    session.ask('setconf', name='rpcrdma.' + preference, value=value)
                    for frame in random.Random(preference).sample(frames, 40):
                        session.tree(frame)
                    self.assertEqual(len(session.list()), len(before[0]))
                    session.ask('frames', filter='rpcrdma.xid || rpcordma.xid')
            session.load(name)  # all of them at once, from the start
            self.assertNotEqual(self.picture(session), before)
            for preference, value in defaults.items():
                session.ask('setconf', name='rpcrdma.' + preference, value=value)
            session.load(name)
            self.assertEqual(self.picture(session), before)

    def test_stopped_midway(self):
        """A file of which only the beginning was read, with Calls and chunks outstanding, leaves nothing behind:
        it and the whole file are shown as a Wireshark that has just been started shows them."""
        whole = host.capture('roce-nfs42-mini')
        packets, link = pcap.read(whole)
        want, paths = {}, [whole]
        for n in (60, 131, len(packets) // 2):
            paths.append(self.path(f'{n}.pcap'))
            pcap.write(paths[-1], packets[:n], link)
        for path in paths:
            session = self.session()
            session.ask('load', file=path)
            want[path] = self.picture(session)
        session = self.session()
        for path in (*paths, whole, *reversed(paths)):
            session.ask('load', file=path)
            self.assertEqual(self.picture(session), want[path], path)


if __name__ == '__main__':
    unittest.main()
