# SPDX-License-Identifier: BSD-2-Clause
"""report of RPCs that fail at RPC or RDMA level or in NFS, and of errors of the protocol: they are not healthy, or it is said."""
import json
import os
import struct
import unittest

from command import CommandTest
import rule_talk
import rules
import rules_nfs4

SECOND = 10**9
NOENT = 2
PROG_UNAVAIL, SYSTEM_ERR = 1, 5
AUTH_BADCRED, AUTH_TOOWEAK = 1, 5
LOCKT, READ, SEEK = 13, 25, 69
NXIO, NOSPC, DENIED = 6, 28, 10010


def accepted(c, status):
    xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
    c.reply(xid, payload=struct.pack('>6I', xid, 1, 0, 0, 0, status))


def denied(c, why=AUTH_TOOWEAK):
    xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
    c.reply(xid, payload=struct.pack('>5I', xid, 1, 1, 1, why))


def chunk_error(c):
    c.error(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), rule_talk.ERR_CHUNK)


class Failed(CommandTest):
    def report(self, talk):
        path = os.path.join(self.folder, 'failed.pcap')

        def whole(c, _):
            c.null()
            talk(c)
            c.talk.disconnect()
        rules.write(path, whole, True)
        page = os.path.join(self.folder, 'failed.html')
        self.run_command('report', path, '--html', page)
        with open(page, encoding='utf-8') as file:
            green = 'class="verdict healthy"' in file.read()
        report = json.loads(self.run_command('report', '--json', path))
        return report, ' '.join(self.run_command('report', path).split()), green

    def test_many(self):
        """A tenth and more: a cause, whatever says so."""
        for fail, name in ((lambda c: accepted(c, PROG_UNAVAIL), 'PROG_UNAVAIL'),
                           (lambda c: accepted(c, SYSTEM_ERR), 'SYSTEM_ERR'),
                           (denied, 'AUTH_TOOWEAK'), (chunk_error, 'RDMA error')):
            def talk(c, fail=fail):
                for _ in range(7):
                    c.null()
                for _ in range(2):
                    fail(c)
            report, text, green = self.report(talk)
            self.assertEqual([one['cause'] for one in report['causes']], ['rpcs-failed'], report['causes'])
            cause = report['causes'][0]
            self.assertIn(f'2 of 10 RPCs failed at RPC or RDMA level, with {name}, first in frame {cause["frame"]}',
                          cause['text'])
            self.assertEqual((report['verdict'], cause['rpcs'], green), ('causes', 2, False))
            self.assertGreater(cause['cost_ns'], 0)
            self.assertNotIn('All RPCs were answered', text)

    def test_most_often(self):
        def talk(c):
            denied(c)
            for _ in range(3):
                accepted(c, SYSTEM_ERR)
        self.assertIn('4 of 5 RPCs failed at RPC or RDMA level, most often with SYSTEM_ERR, first in frame',
                      self.report(talk)[0]['text'])

    def test_exports(self):
        """What Linux' nfsd answers to a client that no line of its exports names: report says where to look."""
        for why, told in ((AUTH_BADCRED, True), (AUTH_TOOWEAK, False)):
            def talk(c, why=why):
                for _ in range(2):
                    denied(c, why)
            self.assertEqual('exportfs -v' in self.report(talk)[0]['causes'][0]['text'], told)

    def test_few(self):
        """Fewer are said beside the verdict, which is not green."""
        def talk(c):
            for _ in range(28):
                c.null()
            accepted(c, PROG_UNAVAIL)
        report, text, green = self.report(talk)
        self.assertEqual((report['verdict'], report['causes'], green), ('healthy', [], False))
        for words in (report['text'], text):
            self.assertIn('Healthy: 30 RPCs', words)
            self.assertIn('1 of 30 RPCs failed at RPC or RDMA level, with PROG_UNAVAIL, first in frame', words)

    def test_one_at_first(self):
        """A client may ask in vain whether there is a version of the program: one is no cause, but where it is most."""
        for n, cause in ((2, False), (0, True)):
            def talk(c, n=n):
                accepted(c, PROG_UNAVAIL)
                for _ in range(n):
                    c.null()
            report = self.report(talk)[0]
            self.assertEqual([one['cause'] for one in report['causes']], ['rpcs-failed'] * cause, report['causes'])

    def test_nfs_status(self):
        """That there is no such file is an answer."""
        def talk(c):
            for _ in range(9):
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.reply(xid, struct.pack('>I', NOENT))
        report, _, green = self.report(talk)
        self.assertEqual((report['verdict'], green), ('healthy', True))
        self.assertTrue(report['text'].endswith('nobody waited for credits.'), report['text'])

    def test_could_not(self):
        """A server whose disk or state is at fault: it, and neither the network nor the transport; few are said beside."""
        for status, name in ((5, 'NFS3ERR_IO'), (28, 'NFS3ERR_NOSPC'), (70, 'NFS3ERR_STALE')):
            for n, cause in ((3, True), (28, False)):
                def talk(c, status=status, n=n):
                    for _ in range(n):
                        c.getattr()
                    for _ in range(2):
                        xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                        c.reply(xid, struct.pack('>I', status))
                report, text, green = self.report(talk)
                words = f'2 of {n + 3} RPCs failed in NFS, with {name}, first in frame '
                self.assertEqual([one['cause'] for one in report['causes']], ['nfs-failed'] * cause)
                self.assertFalse(green)
                self.assertIn(words, report['causes'][0]['text'] if cause else report['text'])
                self.assertIn(words, text)
                self.assertEqual('Neither the network nor RPC-over-RDMA is at fault' in text, cause)

    def burst(self, failed, among=0, pause_ns=0, clients=1):
        """Of many RPCs some fail one after the other, so many of them right between, or so long after each other."""
        def talk(c):
            ones = [c if n == 0 else c.beside(n + 1) for n in range(clients)]
            for n in range(400):
                ones[n % clients].null()
            c.clock.now += 60 * SECOND
            for n in range(failed):
                one = ones[n % clients]
                xid = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                one.reply(xid, struct.pack('>I', NOSPC))
                for _ in range(among):
                    one.null()
                c.clock.now += pause_ns
            c.clock.now += 60 * SECOND
            for n in range(400):
                ones[n % clients].null()
        return self.report(talk)[0]

    def test_burst(self):
        """Few of a long capture, and most of what was asked for meanwhile."""
        for fields in ({}, {'among': 4}, {'clients': 4}):
            report = self.burst(20, pause_ns=SECOND, **fields)
            cause, = report['causes']
            self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']), ('nfs-failed', 'high', 20), fields)
            self.assertRegex(cause['text'], rf'^From 6\d\.\d s into the capture on, for 19\.\d s, 20 of {20 + 19 * fields.get("among", 0)} RPCs '
                             r'of the server \S+ failed in NFS, most often with NFS3ERR_NOSPC, first in frame \d+: the server got them')
            self.assertAlmostEqual(cause['cost_ns'], 19 * SECOND, delta=SECOND // 2)
            self.assertNotIn('RPCs failed in NFS', report['text'].replace(cause['text'], ''))
        for fields in ({'failed': 5, 'pause_ns': 2 * SECOND}, {'failed': 5, 'pause_ns': 2 * SECOND, 'among': 1}):
            self.assertEqual([one['cause'] for one in self.burst(**fields)['causes']], ['nfs-failed'], fields)
        for fields in ({'failed': 9}, {'failed': 20, 'among': 20}, {'failed': 20, 'pause_ns': 31 * SECOND},
                       {'failed': 4, 'pause_ns': 2 * SECOND}, {'failed': 9, 'pause_ns': SECOND, 'among': 2}):
            report = self.burst(**fields)
            self.assertEqual(report['causes'], [], fields)
            self.assertIn('RPCs failed in NFS, with NFS3ERR_NOSPC, first in frame', report['text'])

    def cost(self, *failures, status=NOSPC):
        """Of GETATTRs that fail: each so long under way, of that file, and so long before the next; then of one that does not."""
        def talk(c):
            for took_ns, file, pause_ns in failures:
                xid = c.call(rule_talk.GETATTR, rule_talk.opaque(file))
                c.clock.now += took_ns
                c.reply(xid, struct.pack('>I', status))
                c.clock.now += pause_ns
            c.reply(c.call(rule_talk.GETATTR, rule_talk.opaque(failures[0][1])), bytes(4) + rule_talk.ATTRIBUTES)
        cause, = [one for one in self.report(talk)[0]['causes'] if one['cause'] == 'nfs-failed']
        return cause['cost_ns'] / SECOND, cause['text']

    def test_cost(self):
        """An RPC that fails costs its time. If the same is asked again soon, and fails, the time until then counts, too."""
        hour, a, b = 3600 * SECOND, b'A' * 8, b'B' * 8
        for failures, cost in (([(SECOND // 2, a, hour), (SECOND // 2, a, hour)], 1),
                               ([(SECOND // 2, a, 15 * SECOND)] * 9, 4.5),
                               ([(SECOND // 2, a, 2 * SECOND), (SECOND // 2, b, 2 * SECOND)], 1),
                               ([(SECOND // 2, a, 2 * SECOND), (SECOND // 2, b, 2 * SECOND), (SECOND // 2, a, 2 * SECOND)], 5.5),
                               ([(SECOND // 2, a, SECOND)] * 2 + [(0, a, 5 * SECOND)] * 2 + [(0, a, hour)], 13)):
            found, text = self.cost(*failures)
            self.assertAlmostEqual(found, cost, 1, failures)
        self.assertIn(', all within 12.5 s: the server got them', text)

    def compounds(self, operation, status, times):
        """COMPOUNDs of NFSv4.2 whose last operation has that status."""
        def talk(c):
            for seqid in range(1, times + 1):
                xid = rules_nfs4.call(c, seqid=seqid, more=(rules_nfs4.ROOT, operation), minor=2)
                self.answer(c, xid, seqid, operation[:4], status)
        return self.report(talk)

    @staticmethod
    def answer(c, xid, seqid, code, status):
        c.reply(xid, rules_nfs4.results([rules_nfs4.sequence_result(c, seqid), rules_nfs4.ROOT_RESULT,
                                         code + struct.pack('>I', status)], status))

    def test_no_more_data(self):
        """SEEK answers NFS4ERR_NXIO where there is no more data (RFC 7862 section 15.11.3), which is no failure; others' is."""
        seek = struct.pack('>I', SEEK) + bytes(16) + struct.pack('>QI', 4096, 0)
        read = struct.pack('>I', READ) + bytes(16) + struct.pack('>QI', 0, 4096)
        for operation, failed in ((seek, False), (read, True)):
            report, _, green = self.compounds(operation, NXIO, 3)
            self.assertEqual(([one['cause'] for one in report['causes']], green), (['nfs-failed'] * failed, not failed))
            self.assertEqual(report['errors'][0]['status'], 'NFS4ERR_NXIO')

    def test_other_version(self):
        """A mount that asks for NFSv4.2 only, of a server that has none; one that has NFSv4.1 instead then."""
        def talk(c, more):
            xid = rules_nfs4.call(c, seqid=1, more=(rules_nfs4.ROOT,), minor=2)
            self.answer(c, xid, 1, rules_nfs4.ROOT[:4], 10021)
            for _ in range(more):
                c.getattr()
        report, text, _ = self.report(lambda c: talk(c, 0))
        self.assertEqual([one['cause'] for one in report['causes']], ['nfs-failed'])
        self.assertIn('1 of 2 RPCs failed in NFS, with NFS4ERR_MINOR_VERS_MISMATCH', text)
        self.assertEqual(self.report(lambda c: talk(c, 8))[0]['causes'], [])

    def test_locked(self):
        """A lock that another client has is nobody's fault, and what an application waits for."""
        lockt = struct.pack('>IIQQ', LOCKT, 2, 0, 4096) + bytes(8) + rule_talk.opaque(b'owner')
        report, text, green = self.compounds(lockt, DENIED, 3)
        self.assertEqual((report['verdict'], green), ('healthy', True))
        self.assertIn('3 RPCs asked for a lock that another owner has (NFS4ERR_DENIED), first answered in frame ', text)

    def test_beside_a_cause(self):
        """Where something else is the cause, an application's error is told all the same."""
        def talk(c):
            for _ in range(28):
                c.getattr()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.reply(xid, struct.pack('>I', NOSPC))
            xid = c.call(rule_talk.NULL)
            c.clock.now += 40 * 10**9
            c.reply(xid)
        report, text, _ = self.report(talk)
        self.assertEqual([one['cause'] for one in report['causes']], ['slow-server'])
        with open(os.path.join(self.folder, 'failed.html'), encoding='utf-8') as file:
            page = file.read()
        for said in (text, page):
            self.assertIn('1 of 31 RPCs failed in NFS, with NFS3ERR_NOSPC, first in frame ', said)

    def test_errors_of_the_protocol(self):
        """What check calls an error stands beside the verdict."""
        def talk(c):
            for _ in range(28):
                c.null()
            c.reply(c.call(rule_talk.NULL), payload=struct.pack('>6I', c.xid, 1, 7, 0, 0, 0))
        report, _, green = self.report(talk)
        self.assertEqual((report['verdict'], green), ('healthy', False))
        self.assertRegex(report['text'], r'nobody waited for credits\. \d+ errors? of the protocol (was|were) found: see rpcrdma check\.$')


if __name__ == '__main__':
    unittest.main()
