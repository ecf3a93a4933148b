# SPDX-License-Identifier: BSD-2-Clause
"""Whatever comes from outside (names of files and devices, options, what a capture says of itself): no
stream shows a control character of it, a line that is not ours, or a change of direction."""
import json
import os
import shutil
import subprocess
import unicodedata
import xml.etree.ElementTree

import command

BAD = b'\x1b[2J\nrpcrdma: forged\rx\x07\x7f\xc2\x9b1m\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6\xff'
TURNING = set('\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069')
READERS = ('decode', 'rpcs', 'connections', 'credits', 'check')
COMMANDS = READERS + ('extract', 'capture')


class Escape(command.CommandTest):
    def look(self, stream, arguments):
        text = stream.decode()  # all of it is UTF-8
        for character in text:
            self.assertFalse(character in TURNING or (unicodedata.category(character) == 'Cc' and
                                                      character != '\n'), f'{arguments}: {stream}')
        self.assertNotIn('\nrpcrdma: forged', '\n' + text, arguments)

    def said(self, *arguments, binary=False, stdin=b''):
        """Status, stdout, stderr, of which the latter two are fit to be seen."""
        run = subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False, input=stdin,
                             timeout=60)
        self.look(run.stderr, arguments)
        if not binary:
            self.look(run.stdout, arguments)
        self.assertGreaterEqual(run.returncode, 0, arguments)
        return run.returncode, run.stdout, run.stderr

    def path(self, name=b'file' + BAD):
        return os.path.join(os.fsencode(self.folder), name)

    def refused(self, *arguments):
        status, _, err = self.said(*arguments)
        self.assertEqual(status, 2, arguments)
        self.assertIn(b'\\x1b[2J\\x0arpcrdma: forged\\x0dx\\x07\\x7f\\xc2\\x9b1m\\xe2\\x80\\xae\\xe2\\x80\\xa8'
                      b'\\xe2\\x81\\xa6\\xff', err, arguments)
        self.assertEqual(err.count(b'\n'), 1, err)

    def test_missing_files(self):
        for name in COMMANDS:
            more = ['-w', self.path(b'out')] if name in ('extract', 'capture') else []
            self.refused(name, *more, self.path())

    def test_damaged_files(self):
        with open(self.path(), 'wb') as out:
            out.write(command.pcap_header() + command.pcap_packet(bytes(60)) + bytes(7))
        for name in READERS:
            self.refused(name, self.path())
        with open(self.path(), 'wb') as out:
            out.write(BAD * 3)
        for name in READERS:
            self.refused(name, self.path())
        self.refused('decode', self.path(), command.capture())

    def test_files_that_are_read(self):
        """Clock and copies of several; no RPC-over-RDMA; no violations."""
        shutil.copy(command.capture(), self.path())
        shutil.copy(command.capture(), self.path(b'other' + BAD))
        for name in READERS:
            status, _, err = self.said(name, self.path(), self.path(b'other' + BAD))
            self.assertEqual(status, 0)
            self.assertIn(b'packets were counted in another file', err)
        self.assertIn(b'no protocol violations', self.said('check', self.path())[2])
        with open(self.path(), 'wb') as out:
            out.write(command.pcap_header() + command.pcap_packet(bytes(60)))
        self.assertIn(b'no RPC-over-RDMA', self.said('decode', self.path())[2])

    def test_junit(self):
        """XML that can be read, with nothing in it that a terminal obeys."""
        path = self.path(b'file\xef\xbf\xbe\xef\xbf\xbf' + BAD)
        shutil.copy(command.capture(), path)
        _, out, _ = self.said('check', '--format', 'junit', path)
        xml.etree.ElementTree.fromstring(out)
        self.assertNotRegex(out.replace(b'\n', b''), rb'[\x00-\x1f\x7f]|&#x')

    def test_outputs(self):
        inside = self.path(b'none' + BAD + b'/out')
        for arguments in (['capture', '-r', command.capture(), '-w', inside],
                          ['capture', '-r', command.capture(), '-w', inside, '-b', 'filesize:10'],
                          ['capture', '-r', command.capture(), '-w', self.path(b'x' + BAD + b'.gz')],
                          ['extract', '-w', inside, command.capture()],
                          ['extract', '-d', inside, command.capture()],
                          ['credits', '--series', inside, command.capture()],
                          ['credits', '--plot', inside + b'.svg', command.capture()],
                          ['credits', '--plot', self.path(b'x' + BAD), command.capture()]):
            self.refused(*arguments)

    def test_options(self):
        for name in COMMANDS:
            for option in ('-f', '--dialect', '--port', '--qpn', '--max-memory', '-c', '-s', '-B'):
                arguments = [option, BAD, '-r', command.capture()]
                self.assertEqual(self.said(name, *arguments)[0], 2, arguments)
            self.assertEqual(self.said(name, b'--' + BAD)[0], 2)
            self.assertEqual(self.said(name, b'-' + BAD)[0], 2)
            self.assertEqual(self.said(name, '-i', BAD, '-w', '/dev/null')[0], 2)
        for arguments in ([BAD], ['help', BAD], ['decode', '-t', BAD, command.capture()],
                          ['capture', '-a', BAD], ['capture', '-b', BAD], ['--extcap-' + 'x\x1b[2J'],
                          ['--extcap-dlts', '--extcap-interface', BAD],
                          ['--extcap-interface', BAD, '--extcap-capture-filter', BAD],
                          ['--capture', '--extcap-interface', BAD, '--fifo', BAD]):
            self.assertEqual(self.said(*arguments)[0], 2, arguments)
        self.said('fields', BAD)

    def interface(self, linktype, text):
        """A capture whose interface says this of itself, and one packet."""
        options = b''.join(command.option(code, text) for code in (2, 3, 1)) + \
            command.option(11, b'\0' + text)
        return self.file(command.section() + command.interface(linktype, options=options) +
                         command.enhanced(self.packets()[50].data, 1), 'interface.pcapng')

    def test_interfaces(self):
        path = self.interface(9999, BAD)
        for name in READERS:
            status, _, err = self.said(name, path)
            self.assertEqual(status, 2)
            self.assertIn(b'link type 9999 of \\x1b[2J\\x0a', err)
        for text in (BAD, b'x' * 65000):
            out = self.path(b'out.pcapng')
            self.said('capture', '-r', self.interface(1, text), '-w', out)
            status, _, err = self.said('decode', out)
            self.assertEqual(status, 0, err)
        err = self.said('decode', self.interface(9999, b'x' * 65000))[2]
        self.assertLess(len(err), 1000)

    def test_json(self):
        status, out, _ = self.said('capture', '-D', '--json')
        if status == 0:
            for line in out.splitlines():
                json.loads(line)

    def test_reason_behind_a_long_name(self):
        """A name as long as names can be leaves room for what is wrong."""
        path = '/tmp/' + '/'.join(['x' * 200] * 20)
        for name in READERS:
            self.run_command(name, path, status=2)
            self.assertTrue(self.stderr.endswith(': No such file or directory\n'), self.stderr)


command.main()
