#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""modules_test.py RPCRDMA CAPTURES CMAKE BUILD MODULES INSTALLED: which libraries are loaded when, and what is
said where a module is missing or is not to be trusted. MODULES is their folder in BUILD, INSTALLED the one that
was configured."""
import bz2
import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys

CMAKE, BUILD, MODULES, INSTALLED = sys.argv[3:7]
del sys.argv[3:7]
# pylint: disable=wrong-import-position
import command

FROM_PROGRAM = os.path.relpath(MODULES, os.path.dirname(command.RPCRDMA))
ALL = {'devices', 'sqlite', 'zlib', 'zstd', 'xz', 'bzip2', 'lz4'}
UNPACK = ALL - {'devices', 'sqlite'}
# what brings which
LIBRARIES = {'libpcap': 'devices', 'libibverbs': 'devices', 'libsqlite3': 'sqlite', 'libz': 'zlib', 'libzstd': 'zstd',
             'liblzma': 'xz', 'libbz2': 'bzip2', 'liblz4': 'lz4'}


class Modules(command.CommandTest):
    def setUp(self):
        super().setUp()
        with open(command.capture(), 'rb') as file:
            self.data = file.read()
        self.packed = self.file(gzip.compress(self.data), 'capture.gz')

    def loads(self, *arguments, program=command.RPCRDMA, stdin=None, errors=0):
        """The modules that are loaded, by their names and, but for libraries that the system's others want, by
        what they are linked with."""
        run = subprocess.run([program, *arguments], input=stdin, capture_output=True, check=False,
                             env={**os.environ, 'LD_DEBUG': 'files'})
        lines = run.stderr.decode().splitlines()
        said = [line for line in lines if not re.match(r' +\d+:\t', line)]
        self.assertEqual((run.returncode, len(said)), (0, errors), said)
        text = '\n'.join(lines)
        if 'generating link map' not in text:
            self.skipTest('not the GNU C library')
        modules = set(re.findall(r'file=/proc/self/fd/\d+/(\w+)[.]so \[', text))
        libraries = {LIBRARIES.get(name) for name in re.findall(r'file=(lib\w+)[.]so', text)} - {None}
        self.assertLessEqual(modules, libraries)
        if 'devices' not in modules and 'sqlite' not in modules:
            self.assertEqual(modules, libraries)
        return modules

    def there(self, wanted):
        """Of these, what was built."""
        return {name for name in wanted if os.path.exists(os.path.join(MODULES, f'{name}.so'))}

    def test_plain(self):
        """The commands' usual runs load none."""
        for arguments in (['--version'], ['--help'], ['rules']):
            self.assertEqual(self.loads(*arguments), set(), arguments)
        for what in (['decode'], ['rpcs'], ['connections'], ['credits'], ['report'], ['check', '-q'],
                     ['export', '--csv', os.path.join(self.folder, 'tables')],
                     ['extract', '-w', os.path.join(self.folder, 'slice.pcap')]):
            self.assertEqual(self.loads(*what, command.capture()), set(), what)
        with open(command.capture(), 'rb') as file:
            run = subprocess.run([command.RPCRDMA, 'decode', '-'], stdin=file, capture_output=True, check=True)
        self.assertEqual(run.stdout.decode(), self.run_command('decode', command.capture()))

    def test_wanted(self):
        """What the first bytes or the command line ask for is loaded, and nothing else."""
        out = os.path.join(self.folder, 'out')
        packed = {'zlib': gzip.compress(self.data), 'xz': lzma.compress(self.data), 'bzip2': bz2.compress(self.data)}
        for name, data in packed.items():
            path = self.file(data, 'any.name')
            self.assertEqual(self.loads('decode', path), self.there({name}), name)
        both = self.file(packed['xz'], 'xz'), self.file(packed['bzip2'], 'bz2')
        self.assertEqual(self.loads('decode', *both, errors=2), self.there({'xz', 'bzip2'}))
        self.assertEqual(self.loads('decode', '-f', 'udp', command.capture()), {'devices'})
        self.assertEqual(self.loads('export', '--sqlite', out + '.db', command.capture()), {'sqlite'})
        if self.there({'zstd'}):
            self.assertEqual(self.loads('export', '--zstd', '--ndjson', out, command.capture()), {'zstd'})

    def test_pipe(self):
        """Its bytes are not known before the sandbox is entered."""
        self.assertEqual(self.loads('decode', '-', stdin=self.data), self.there(UNPACK))
        for pack in (gzip.compress, lzma.compress, bz2.compress):
            self.assertEqual(self.run_command('decode', '-', stdin=pack(self.data)),
                             self.run_command('decode', command.capture()))

    def copy(self):
        """The command and its modules elsewhere."""
        program = os.path.join(self.folder, 'there', 'bin', 'rpcrdma')
        folder = os.path.normpath(os.path.join(os.path.dirname(program), FROM_PROGRAM))
        shutil.rmtree(os.path.join(self.folder, 'there'), ignore_errors=True)
        os.makedirs(os.path.dirname(program))
        shutil.copy(command.RPCRDMA, program)
        shutil.copytree(MODULES, folder)
        return program, folder

    def refused(self, program, says, *arguments, **more):
        """One line, and status 2; what needs no module goes on."""
        for wanted in (arguments,) if arguments else (['decode', self.packed], ['decode', '--no-sandbox', self.packed]):
            run = subprocess.run([program, *wanted], capture_output=True, check=False, **more)
            self.assertEqual((run.returncode, run.stdout), (2, b''), run.stderr)
            self.assertRegex(run.stderr.decode(), r'\Arpcrdma: [^\n]*' + says + r'[^\n]*\n\Z')
        subprocess.run([program, 'decode', command.capture()], capture_output=True, check=True)
        subprocess.run([program, 'decode', '-'], input=self.data, capture_output=True, check=True)

    def test_missing(self):
        if os.path.exists(INSTALLED):
            self.skipTest('there are others, in the folder that was configured')
        program, folder = self.copy()
        self.assertEqual(self.loads('decode', self.packed, program=program), {'zlib'})
        shutil.rmtree(folder)
        self.refused(program, r'capture[.]gz: gzip: /\S+/zlib[.]so: No such file or directory')
        for what, arguments in (('devices', ['decode', '-f', 'udp', command.capture()]),
                                ('devices', ['decode', '-i', 'lo']), ('devices', ['capture', '-D']),
                                ('sqlite', ['export', '--sqlite', '/nonexistent/db', command.capture()]),
                                ('zstd', ['export', '--zstd', '--csv', '/nonexistent', command.capture()])):
            self.refused(program, rf'/{what}[.]so: No such file or directory', *arguments)

    def test_damaged(self):
        program, folder = self.copy()
        path = os.path.join(folder, 'zlib.so')
        with open(path, 'rb') as file:
            data = file.read()
        version = re.search(rb'\d+[.]\d+[.]\d+', subprocess.run([program, '--version'], capture_output=True,
                                                                check=True).stdout)[0]
        self.assertEqual(data.count(version + b'\0'), 1)
        os.unlink(path)  # not written to: it is mapped
        with open(path, 'wb') as file:
            file.write(data.replace(version + b'\0', b'9' + version[1:] + b'\0'))
        self.refused(program, 'gzip: its module .*another version')
        with open(path, 'wb') as file:
            file.write(data[:100])
        self.refused(program, 'gzip: .*zlib[.]so')

    def test_of_others(self):
        """What another user could have put there is not loaded."""
        says = r'gzip: /\S+/zlib[.]so: it is another user.s, or everybody.s to write'
        program, folder = self.copy()
        path = os.path.join(folder, 'zlib.so')
        for one, mode in ((path, 0o666), (folder, 0o777), (folder, 0o1777)):
            before = os.stat(one).st_mode
            os.chmod(one, mode)
            self.refused(program, says)
            os.chmod(one, before)
        if os.geteuid() == 0:
            for one in (path, folder):
                os.chown(one, 4711, 4711)
                self.refused(program, says)
                os.chown(program, 4711, 4711)  # who could change the program could as well
                subprocess.run([program, 'decode', self.packed], capture_output=True, check=True)
                for each in (one, program):
                    os.chown(each, 0, 0)
        self.assertEqual(self.loads('decode', self.packed, program=program), {'zlib'})

    def test_elsewhere(self):
        """Neither the current folder nor the environment say where modules are."""
        program, _ = self.copy()
        for folder in ('planted', 'planted/rpcrdma', 'planted/lib/rpcrdma'):
            os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
            self.file(b'not a module', os.path.join(folder, 'zlib.so'))
        planted = os.path.join(self.folder, 'planted')
        subprocess.run([program, 'decode', self.packed], capture_output=True, check=True, cwd=planted,
                       env={**os.environ, 'LD_LIBRARY_PATH': planted, 'LD_ORIGIN_PATH': planted})

    def test_installed(self):
        prefix = os.path.join(self.folder, 'prefix')
        subprocess.run([CMAKE, '--install', BUILD, '--prefix', prefix], check=True, stdout=subprocess.DEVNULL)
        program = os.path.join(prefix, 'bin', 'rpcrdma')
        found = glob.glob(os.path.join(prefix, '**', 'rpcrdma', '*.so'), recursive=True)
        self.assertEqual({os.path.basename(path)[:-3] for path in found}, self.there(ALL))
        self.assertEqual(self.loads('decode', self.packed, program=program), {'zlib'})
        self.assertEqual(self.loads('decode', '-f', 'udp', command.capture(), program=program), {'devices'})
        out = os.path.join(self.folder, 'installed.db')
        self.assertEqual(self.loads('export', '--sqlite', out, command.capture(), program=program), {'sqlite'})


if __name__ == '__main__':
    command.main()
