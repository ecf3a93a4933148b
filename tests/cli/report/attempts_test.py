# SPDX-License-Identifier: BSD-2-Clause
"""report of servers that refuse to be connected to: REJ, TCP's RST, an MPA Reply that rejects."""
import json
import os
import unittest

from command import CommandTest
import cm

from iwarp_talk import ACK, REJECT, RST, SYN, IwarpTalk
import rule_talk
import rules
import rules_nfs4

SECOND = 10**9
INVALID_SERVICE, STALE, CONSUMER = 8, 10, 28


def refused(c, number, reason, by_client=False):
    one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
    talk = one.talk
    talk.datagram(one.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5, *one.hosts))
    if by_client:
        talk.datagram(one.server, cm.rep(talk.remote_id, talk.local_id, one.server.qpn, 5))
        talk.datagram(one.client, cm.rej(talk.local_id, talk.remote_id, reason))
    else:
        talk.datagram(one.server, cm.rej(0, talk.local_id, reason))
    c.clock.now += 3 * SECOND


class Attempts(CommandTest):
    def report(self, talk):
        path = os.path.join(self.folder, 'attempts.pcap')
        rules.write(path, talk, True)
        return json.loads(self.run_command('report', '--json', path)), self.run_command('report', path)

    def only(self, talk, text, confidence='high'):
        report, words = self.report(talk)
        self.assertEqual([one['cause'] for one in report['causes']], ['connection-refused'], report['causes'])
        self.assertIn(text, report['causes'][0]['text'])
        self.assertEqual(report['causes'][0]['confidence'], confidence)
        self.assertEqual((report['verdict'], report['text']), ('causes', report['causes'][0]['text']))
        self.assertEqual(words.startswith('=> The server refused'), True, words)
        return report['causes'][0]

    def test_refused_from_the_start(self):
        """Nothing but attempts, each of them refused."""
        for reason, words in ((INVALID_SERVICE, '(REJ, invalid service ID: nothing listens for RDMA on port 20049)'),
                              (CONSUMER, '(REJ, consumer reject: what listens on port 20049 does not want it)'),
                              (3, '(REJ, no resources available (reason 3))')):
            def talk(c, _, reason=reason):
                for number in range(1, 6):
                    refused(c, number, reason)
            cause = self.only(talk, 'The server refused 5 attempts to connect within 12.0 s ' + words)
            self.assertEqual([cause[key] for key in ('connection', 'frame', 'dst', 'count')], [1, 2, rule_talk.SERVER, 5])
        cause = self.only(lambda c, _: refused(c, 1, CONSUMER), 'The server refused an attempt to connect (REJ', 'medium')
        self.assertIn('it was tried once', cause['against'])

    def test_refused_after_a_connection(self):
        """One that worked and was closed by the client: what follows is not healthy."""
        def talk(c, _):
            c.null()
            c.talk.disconnect()
            c.clock.now += SECOND
            for number in range(2, 12):
                refused(c, number, INVALID_SERVICE)
        self.only(talk, 'The server refused 10 attempts to connect within 27.0 s')

    def test_died_and_asked_for(self):
        """A server dies with Calls outstanding, and does not answer the attempts that follow: the report says of the connection,
        too, that it stopped answering. An attempt that it answers takes that one's place."""
        def talk(c, _, attempts, answered):
            c.null()
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.acknowledge_late(*[2 * SECOND] * 6, acks=0)
            c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
            for number in range(2, 2 + attempts):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                for _ in range(3):
                    one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5,
                                                         *one.hosts))
                    c.clock.now += 4 * SECOND
            if answered:
                one = rule_talk.Conversation(c.packets, number=2 + attempts, clock=c.clock)
                one.xid = c.xid + 100
                one.null()
        for attempts in (1, 3):
            report, _ = self.report(lambda c, _, attempts=attempts: talk(c, _, attempts, False))
            told = {one['connection']: one for one in report['causes']}
            self.assertEqual([one['cause'] for one in report['causes']], ['connection-failed'] * 2, report['causes'])
            self.assertRegex(told[1]['text'], r'^Connection 1 failed\. The server stopped answering: it was heard last .* and one packet '
                             r'was sent to it 7 times\. 1 Call had no Reply\.$')
            report, _ = self.report(lambda c, _, attempts=attempts: talk(c, _, attempts, True))
            self.assertNotIn('Connection 1 failed. The server stopped', ' '.join(one['text'] for one in report['causes']))

    def test_kept_its_sessions(self):
        """A server that refuses attempts, and then goes on with the client's session, was not restarted: it did not listen."""
        def talk(c, _, kept):
            rules_nfs4.answer(c, rules_nfs4.call(c))
            c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
            for number in (2, 3):
                refused(c, number, INVALID_SERVICE)
            one = rule_talk.Conversation(c.packets, number=4, clock=c.clock)
            one.xid = c.xid
            if kept:
                rules_nfs4.answer(one, rules_nfs4.call(one, seqid=2), seqid=2)
            else:
                one.getattr()
        for kept in (True, False):
            report, _ = self.report(lambda c, _, kept=kept: talk(c, _, kept))
            cause, = report['causes']
            self.assertEqual((cause['cause'], cause['confidence']),
                             ('connection-failed', 'medium') if kept else ('server-restarted', 'high'))
            self.assertIn('The server did not listen for RDMA: connection 1 was closed by the server, the server refused 2 attempts, as '
                          "nothing listened there, and after 6.0 s accepted connection 4, where the client's session went on: it was not "
                          'restarted, but its adapter or its RDMA port was gone.' if kept else
                          'The server was restarted: connection 1 was closed by the server, the server refused 2 attempts', cause['text'])

    def test_asked_too_late(self):
        """A server that was cut off answers an old request by a REJ of its consumer: that is no restart, and something listens."""
        def talk(c, _, reason):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.acknowledge_late(*[2 * SECOND] * 6, acks=0)
            refused(c, 2, reason)
            one = rule_talk.Conversation(c.packets, number=3, clock=c.clock)
            one.xid = xid + 16
            one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
        for reason in (INVALID_SERVICE, CONSUMER):
            report, _ = self.report(lambda c, _, reason=reason: talk(c, _, reason))
            names = [one['cause'] for one in report['causes']]
            self.assertEqual(names, ['server-restarted' if reason == INVALID_SERVICE else 'connection-failed'])
            self.assertEqual(any('nothing listened' in one['text'] for one in report['causes']), reason == INVALID_SERVICE)

    def test_given_up(self):
        """A client that got no answer to its REQ ends that by a REJ of its own (timeout): nothing refused it."""
        def withdrawn(c, number):
            one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
            one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5, *one.hosts))
            c.clock.now += 2 * SECOND
            one.talk.datagram(one.client, cm.rej(one.talk.local_id, 0, 4))

        def talk(c, _):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.acknowledge_late(*[2 * SECOND] * 6, acks=0)
            withdrawn(c, 2)
            one = c.beside(3)
            one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
        report, _ = self.report(talk)
        self.assertEqual([one['cause'] for one in report['causes']], ['connection-failed'], report['causes'])
        self.assertIn('on connection 3, ', report['text'])
        self.assertNotIn('refused', report['text'])
        report, _ = self.report(lambda c, _: (withdrawn(c, 1), withdrawn(c, 2)) and None)
        self.assertEqual([one['cause'] for one in report['causes']], ['connection-failed'], report['causes'])
        self.assertIn('The server did not answer: 2 attempts to connect', report['text'])

    def test_refused_until_accepted(self):
        """A server that is being started refuses, and then accepts: that is no storm of connections that break."""
        def talk(c, _):
            c.call(rule_talk.NULL)
            c.talk.disconnect()
            for number in range(2, 7):
                refused(c, number, INVALID_SERVICE)
            c.beside(7).null()
        path = os.path.join(self.folder, 'attempts.pcap')
        rules.write(path, talk, True)
        found = self.run_command('check', '-n', '--json', path, status=1)
        self.assertIn('"connection-rejected"', found)
        self.assertNotIn('"reconnect-storm"', found)

    def many(self, c, n, of=lambda number: '10.0.0.1'):
        for number in range(n):
            one = rule_talk.Conversation(c.packets, number=1, clock=c.clock, hosts=(of(number), rule_talk.SERVER))
            one.client.qpn, one.talk.local_id = 0x10000 + number, 0x10000 + number
            one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5, *one.hosts))
            one.talk.datagram(one.server, cm.rej(0, one.talk.local_id, INVALID_SERVICE))
            c.clock.now += SECOND

    def test_more_than_are_kept(self):
        """A client that retries for long; there are others before it that fill what is kept."""
        self.only(lambda c, _: self.many(c, 1500), 'The server refused 1500 attempts to connect within 1499.0 s')

        def second(c, _):
            self.many(c, 1100)
            self.many(c, 1200, lambda _: '10.0.0.2')
        report, _ = self.report(second)
        self.assertEqual([one['text'].split(' within')[0] for one in report['causes']],
                         [f'The server {rule_talk.SERVER} refused {n} attempts by {client} to connect'
                          for n, client in ((1200, '10.0.0.2'), (1100, '10.0.0.1'))])
        self.assertEqual([one['src'] for one in report['causes']], ['10.0.0.2', '10.0.0.1'])

    def unanswered(self, c, n):
        """A client that asks three times each, and gets no answer."""
        for number in range(n):
            one = rule_talk.Conversation(c.packets, number=1, clock=c.clock, hosts=('10.0.0.1', rule_talk.SERVER))
            one.client.qpn, one.talk.local_id = 0x10000 + number, 0x10000 + number
            for _ in range(3):
                one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5, *one.hosts))
                c.clock.now += SECOND

    def test_others_beside_many(self):
        """What befalls another client behind attempts without end, and who takes them in the end, is told all the same."""
        def talk(c, _, tries, accepted):
            tries(c, 1300)
            other = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('10.0.0.2', '192.0.2.3'))
            other.null()
            xid = other.call(rule_talk.NULL)
            other.acknowledge_late(SECOND)
            other.reply(xid)
            other.talk.disconnect()
            if accepted:
                rule_talk.Conversation(c.packets, number=3, clock=c.clock, hosts=('10.0.0.1', rule_talk.SERVER)).null()
        for tries, accepted, cause, says in (
                (self.many, False, 'connection-refused', 'The server refused 1300 attempts to connect'),
                (self.many, True, 'server-restarted', 'it refused 1300 attempts, as nothing listened there'),
                (self.unanswered, False, 'connection-failed', 'The server did not answer: 1300 attempts to connect, from connection 1 '
                                                              'on, got no answer within'),
                (self.unanswered, True, 'connection-failed', '1300 attempts to connect, from connection 1 on, got no answer, and after')):
            with self.subTest(cause=cause, accepted=accepted):
                report, words = self.report(lambda c, _, args=(tries, accepted): talk(c, _, *args))
                self.assertEqual([one['cause'] for one in report['causes']], [cause, 'lost-to-server'])
                self.assertIn(says, report['causes'][0]['text'])
                self.assertEqual((report['connections_left_out'], report['connections_in_order']), (0, 0))
                self.assertEqual(report['attempts_counted'] + len(report['connections']), 1301 + accepted)
                self.assertIn(f'{report["attempts_counted"]} of them are attempts to connect, which are only counted', words)

    def test_never_answered(self):
        """The capture goes on behind the last request, as another client is answered: it lasted until the end."""
        for after in (0, 20):
            def talk(c, _, after=after):
                self.unanswered(c, 1)
                c.clock.now += after * SECOND - SECOND
                other = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('10.0.0.2', '192.0.2.3'))
                for _ in range(after and 5):
                    other.null()
            cause, = self.report(talk)[0]['causes']
            self.assertEqual((cause['cause'], cause['cost_ns'] // SECOND), ('connection-failed', 2 + after))
            self.assertIn('1 attempt to connect, from connection 1 on, got no answer within 2.0 s' +
                          (', nor in the 20.0 s until the capture ended' if after else '') + '; the last was repeated 2 times.',
                          cause['text'])

    def test_given_up_after_several(self):
        """Two Calls ten seconds apart: the first of them had waited longest."""
        def give_up(c, _):
            c.null()
            c.call(rule_talk.GETATTR)
            c.clock.now += 10 * 10**9
            c.call(rule_talk.GETATTR)
            c.clock.now += 5 * 10**9
            c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
            c.talk.datagram(c.server, cm.drep(c.talk.remote_id, c.talk.local_id))
        cause, = self.report(give_up)[0]['causes']
        self.assertEqual((cause['cause'], cause['rpcs'], cause['cost_ns'] // 10**9), ('unanswered', 2, 15))
        self.assertIn('until the client closed the connection, 15.0 s after the first and 5.0 s after the last', cause['text'])

    def test_accepted_between(self):
        """Others were accepted between, and gave way to more: the server was not down for ever, but these were refused."""
        def talk(c, _, again):
            self.many(c, 3)
            for number in range(300):
                one = rule_talk.Conversation(c.packets, number=1, clock=c.clock,
                                             hosts=(f'10.1.{number >> 8}.{number & 255}',
                                                    '192.0.2.99' if number else rule_talk.SERVER))
                one.client.qpn, one.server.qpn = 0x1000 + 2 * number, 0x1001 + 2 * number
                one.talk.local_id, one.talk.remote_id, one.xid = 0x1000 + number, 0x20000 + number, number << 16
                for _ in range(1 + (number > 0)):
                    one.null()
                one.talk.disconnect()
                c.clock.now += SECOND
            if again:
                self.many(c, 2)
        for again, n, within in ((False, 3, '2.0'), (True, 5, '304.0')):
            cause = self.only(lambda c, _, again=again: talk(c, _, again),
                              f'The server refused {n} attempts to connect within {within} s', 'medium')
            self.assertIn("and none of this client's was accepted since", cause['text'])
            self.assertIn('it accepted others since the first of these, connection 4', cause['against'])

    def test_accepted_another(self):
        """A server that was down for long, whose client gave up: also where it takes others later, or this one by RoCE."""
        def talk(c, _, host, iwarp):
            if iwarp:
                for number in range(1, 21):
                    one = c if number == 1 else c.beside(number)
                    one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                    one.talk.segment(one.client, flags=SYN)
                    one.talk.segment(one.server, flags=RST | ACK, seq=0)
                    c.clock.now += SECOND
            else:
                self.many(c, 20)
            c.clock.now += 600 * SECOND
            rule_talk.Conversation(c.packets, number=40, clock=c.clock, hosts=(host, rule_talk.SERVER)).null()
        for host, iwarp, by in (('10.0.0.3', False, ''), ('10.0.0.3', True, ' by TCP'), (rule_talk.CLIENT, True, ' by TCP')):
            with self.subTest(host=host, iwarp=iwarp):
                cause = self.only(lambda c, _, args=(host, iwarp): talk(c, _, *args),
                                  'The server refused 20 attempts to connect within 19.0 s', 'medium')
                self.assertIn(f"and none of this client's{by} was accepted since", cause['text'])
                self.assertIn('connection 21: it may have been restarted', cause['against'])
        for host in ('10.0.0.3', '10.0.0.1'):
            def once(c, _, host=host):
                self.many(c, 1)
                rule_talk.Conversation(c.packets, number=40, clock=c.clock, hosts=(host, rule_talk.SERVER)).null()
            self.assertNotIn('connection-refused', [one['cause'] for one in self.report(once)[0]['causes']])

    def test_clients_without_end(self):
        """One attempt of each: those that are kept are told, of the others there is a word."""
        path = os.path.join(self.folder, 'clients.pcap')
        rules.write(path, lambda c, _: self.many(c, 1300, lambda n: f'10.2.{n >> 8}.{n & 255}'), True)
        self.run_command('report', '--json', path, errors=1)
        self.assertRegex(self.stderr, r'\d+ refused attempts to connect are not told')

    def test_one_among_clients_without_end(self):
        """Thousands that try once are first; the one that tries again and again comes later, between more of them."""
        def talk(c, _):
            self.many(c, 1300, lambda n: f'10.2.{n >> 8}.{n & 255}')
            self.many(c, 1500, lambda n: '10.0.0.9' if n % 10 == 0 else f'10.3.{n >> 8}.{n & 255}')
        path = os.path.join(self.folder, 'clients.pcap')
        rules.write(path, talk, True)
        report = json.loads(self.run_command('report', '--json', path, errors=1))
        cause = report['causes'][0]
        self.assertEqual((len(report['causes']), cause['src'], cause['confidence']), (1, '10.0.0.9', 'high'))
        self.assertIn(f'The server {rule_talk.SERVER} refused at least 1024 clients, 1173 attempts to connect in all, 10.0.0.9 most '
                      f'often. The server {rule_talk.SERVER} refused at least 150 attempts by 10.0.0.9 to connect within 1490.0 s',
                      cause['text'])
        self.assertEqual(report['attempts_left_out'] + cause['count'], 2800)
        says = f'nd {report["attempts_left_out"]} refused attempts to connect, told by no cause: more clients tried'
        self.assertIn(says, self.run_command('report', path, errors=1))
        self.assertIn(says, self.run_command('report', '--html', '-', path, errors=1))

    def test_clients_of_a_server(self):
        """More than three of one server's are one cause, each server's its own; of fewer each is told."""
        for clients, servers, want in ((4, 1, 1), (3, 1, 3), (5, 2, 2)):
            def talk(c, _, clients=clients, servers=servers):
                for n in range(clients * servers):
                    one = rule_talk.Conversation(c.packets, number=1, clock=c.clock,
                                                 hosts=(f'10.0.0.{n // servers}', f'192.0.2.{1 + n % servers}'))
                    one.client.qpn, one.talk.local_id = 0x10000 + n, 0x10000 + n
                    one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5,
                                                         *one.hosts))
                    one.talk.datagram(one.server, cm.rej(0, one.talk.local_id, INVALID_SERVICE))
                    c.clock.now += SECOND
            causes = self.report(talk)[0]['causes']
            self.assertEqual([one['count'] for one in causes], [clients * servers // want] * want)
            for one in causes:
                self.assertEqual((f'refused {clients} clients, {clients} attempts to connect in all' in one['text'],
                                  one['confidence'] == 'high'), (want != 3, want != 3), one)

    def test_clock_set_back(self):
        """What was accepted since, of the same client, has earlier times."""
        def talk(c, _):
            self.many(c, 5)
            c.clock.now -= 3600 * SECOND
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('10.0.0.1', rule_talk.SERVER))
            one.null()
        path = os.path.join(self.folder, 'back.pcap')
        rules.write(path, talk, True)
        self.assertEqual(json.loads(self.run_command('report', '--json', path, errors=1))['causes'], [])

    def test_over_tcp(self):
        """iWARP: a RST to each SYN, to the MPA Request, or an MPA Reply that rejects."""
        for how, words in (('syn', "(a RST answers TCP's SYN: nothing listens on port 20049)"),
                           ('mpa', '(its MPA Reply rejects: what listens on port 20049 does not want it)')):
            def talk(c, _, how=how):
                for number in range(1, 4):
                    one = c if number == 1 else c.beside(number)
                    one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                    if how == 'syn':
                        one.talk.segment(one.client, flags=SYN)
                        one.talk.segment(one.server, flags=RST | ACK, seq=0)
                    else:
                        one.talk.connect(None, replied=REJECT)
                    c.clock.now += SECOND
            self.only(talk, 'The server refused 3 attempts to connect within 2.0 s ' + words)

    def over_tcp(self, c, number, refused):
        """An attempt that a RST answers; or a connection of which each packet was cut within its headers behind TCP's."""
        one = c if number == 1 else c.beside(number)
        one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
        if refused:
            one.talk.segment(one.client, flags=SYN)
            one.talk.segment(one.server, flags=RST | ACK, seq=0)
        else:
            at = len(c.packets)
            one.null()
            c.packets[at:] = [packet._replace(data=packet.data[:60]) for packet in c.packets[at:]]
        c.clock.now += SECOND

    def test_accepted_and_not_read(self):
        """What the server accepts by TCP in the end, and of which nothing can be read, is no refusal; others behind it are."""
        def talk(c, _, course):
            for number, refuses in enumerate(course, 1):
                self.over_tcp(c, number, refuses == 'r')
        cause = self.only(lambda c, _: talk(c, _, 'rrro'), 'The server refused 3 attempts to connect within 2.0 s', 'medium')
        self.assertIn("and it accepted TCP 1.0 s after the last of these, in frame 8.", cause['text'])
        self.assertIn('could not be read as RPC-over-RDMA', cause['against'])
        self.assertEqual(cause['cost_ns'] // (SECOND // 10), 30)
        cause = self.only(lambda c, _: talk(c, _, 'rrrorrorr'), 'The server refused 2 attempts to connect within 1.0 s')
        self.assertEqual((cause['connection'], cause.get('against')), (6, None))
        self.assertEqual(self.report(lambda c, _: talk(c, _, 'ro'))[0]['causes'], [])

    def test_accepted_and_reset(self):
        """TCP is accepted, and reset behind MPA's Request: that opened nothing."""
        def talk(c, _):
            for number in range(1, 4):
                one = c if number == 1 else c.beside(number)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                one.talk.connect(None)
                del c.packets[-2:]
                one.talk.segment(one.server, flags=RST | ACK)
                c.clock.now += SECOND
        self.only(talk, 'The server refused 3 attempts to connect within 2.0 s (it accepted TCP on port 20049, and reset it before '
                        'MPA), and none was accepted since.')

    def test_no_such_thing(self):
        """One was accepted later; the client refused what it did not want any more; another service's port."""
        def accepted(c, _):
            refused(c, 1, STALE)
            c.clock.now -= 3 * SECOND - 10**6
            c.beside(2).null()

        def beside(c, _):
            c.null()
            refused(c, 2, STALE)
            c.clock.now -= 3 * SECOND - 10**6
            c.beside(3).null()
            c.null()

        def by_client(c, _):
            c.null()
            refused(c, 2, CONSUMER, by_client=True)
            c.null()

        def accepted_first(c, _):
            """A REJ behind the server's own REP."""
            c.begin()
            c.talk.datagram(c.server, cm.rej(c.talk.remote_id, c.talk.local_id, CONSUMER))
            c.beside(2).null()

        def other_port(c, _):
            for number in (1, 2):
                one = c if number == 1 else c.beside(number)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                one.talk.port[id(one.server)] = 443
                one.talk.segment(one.client, flags=SYN)
                one.talk.segment(one.server, flags=RST | ACK, seq=0)
            c.beside(3).null()
        for talk in (accepted, beside, by_client, accepted_first, other_port):
            report, _ = self.report(talk)
            self.assertEqual(report['causes'], [], talk.__name__)
            self.assertEqual(report['verdict'], 'healthy', talk.__name__)

    def test_one_too_many(self):
        """Another one is in use all the while."""
        def talk(c, _):
            c.null()
            for number in (2, 3):
                refused(c, number, 3)
            c.null()
        report, _ = self.report(talk)
        self.assertEqual([(one['cause'], one['confidence']) for one in report['causes']], [('connection-refused', 'medium')])
        self.assertIn('connection 1 of the same hosts was in use meanwhile', report['causes'][0]['against'])


if __name__ == '__main__':
    unittest.main()
