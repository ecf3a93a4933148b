# SPDX-License-Identifier: BSD-2-Clause
"""hardening_test.py CMAKE BUILD READELF CC: every program and library that is installed is hardened: RELRO
and no lazy binding, a stack that is guarded and not executable, the C library's checked functions, code
anywhere in memory, and marks where a jump may end. What the compiler itself cannot do is not asked."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, READELF, CC = sys.argv[1:5]
del sys.argv[1:5]
# with level 2 and above these are __..._chk, whatever they are given; but snprintf where gcc knows that all fits
CHECKED = {'printf', 'fprintf', 'vfprintf', 'vsnprintf', 'dprintf', 'vprintf'}
SAMPLE = '''#include <stdio.h>
int main(int argc, char **argv)
{
    char text[99];
    fgets(text, argc, stdin);
    return printf("%s %s", text, argv[0]);
}
'''


def look(option, path):
    return subprocess.run([READELF, '-W', option, path], capture_output=True, check=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stdout.decode()


def imports(path):
    return {match[1] for match in re.finditer(r' UND (\w+)', look('--dyn-syms', path))}


def landing_pads(path):
    """endbr64 (x86) in the code, or bti c (aarch64)."""
    with open(path, 'rb') as file:
        data = file.read()
    return data.count(b'\xf3\x0f\x1e\xfa') + data.count(b'\x5f\x24\x03\xd5')


def relro(path):
    return 'GNU_RELRO' in look('-l', path)


def bound(path):
    return bool(re.search(r'BIND_NOW|FLAGS.*\bNOW\b', look('-d', path)))


def anywhere(path):
    return bool(re.search(r'Type: +DYN', look('-h', path))) and 'TEXTREL' not in look('-d', path)


def data_only(path):
    return re.search(r'GNU_STACK +(?:0x\w+ +){5}(\S+)', look('-l', path))[1] == 'RW'


def guarded(path):
    return '__stack_chk_fail' in imports(path)


def checked(path):
    names = imports(path)
    return not names & CHECKED and any(name.endswith('_chk') for name in names)


def landing(path):
    return landing_pads(path) > 20


def of_modules(path):
    return os.path.basename(os.path.dirname(path)) == 'rpcrdma' and path.endswith('.so')


def of_table(path):
    return of_modules(path) and os.path.basename(path) != 'devices.so'


# what is asked of each file, and the flag of which it comes: without it the sample has it not
# of a table of functions (cli/module) only this: it has no code
OF_TABLES = (relro, bound, anywhere, data_only)
ASKED = {relro: '-Wl,-z,norelro', bound: '-Wl,-z,lazy', anywhere: '-no-pie', data_only: '-Wl,-z,execstack',
         guarded: '-fno-stack-protector', checked: '-U_FORTIFY_SOURCE'}


class Hardening(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        prefix = os.path.join(cls.folder.name, 'installed')
        subprocess.run([CMAKE, '--install', BUILD, '--prefix', prefix], check=True, stdout=subprocess.DEVNULL)
        cls.files = []
        for folder, _, names in os.walk(prefix):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    continue
                with open(path, 'rb') as file:
                    if file.read(4) == b'\x7fELF':
                        cls.files.append(path)
        cls.source, cls.sample = (os.path.join(cls.folder.name, name) for name in ('sample.c', 'sample'))
        with open(cls.source, 'w', encoding='ascii') as file:
            file.write(SAMPLE)
        for cls.flags in (['-fstack-protector-strong', '-fcf-protection=full'],
                          ['-fstack-protector-strong', '-mbranch-protection=standard'],
                          ['-fstack-protector-strong'], []):
            if cls.compile():
                break

    @classmethod
    def compile(cls, *more):
        """Whether the compiler takes the sample, with what is asked of files and `more`."""
        return subprocess.run([CC, '-O1', '-fPIE', '-pie', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2', '-Wl,-z,relro',
                               '-Wl,-z,now', *cls.flags, *more, cls.source, '-o', cls.sample],
                              capture_output=True, check=False).returncode == 0

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_files(self):
        """All that is installed: the library, and what is built of command and plugin. Extcap is a script."""
        names = {os.path.basename(path) for path in self.files if not of_modules(path)}
        self.assertTrue(any(name.startswith('librpcrdma.so') for name in names), names)
        for part, name in (('cli', 'rpcrdma'), ('plugin', 'rpcrdma.so')):
            self.assertEqual(os.path.exists(os.path.join(BUILD, part, name)), name in names, names)
        self.assertLessEqual(len(names), 3, 'a file that is new here')
        modules = {os.path.basename(path) for path in self.files if of_modules(path)}
        built = glob.glob(os.path.join(BUILD, '**', 'rpcrdma', '*.so'), recursive=True)
        self.assertEqual(modules, {os.path.basename(path) for path in built})

    def test_tables(self):
        """They are what they are taken for: no function is theirs."""
        for path in self.files:
            if of_table(path):
                functions = re.findall(r' FUNC +\w+ +\w+ +\d+ (\S+)', look('--dyn-syms', path))
                self.assertEqual(functions, [], path)
                self.assertIn('rpcrdma_module', look('--dyn-syms', path))

    def test_each(self):
        """What the compiler itself cannot do is not asked."""
        for asked in ASKED:
            self.assertTrue(self.compile())
            if not asked(self.sample):
                print(f'{asked.__name__}: not with this compiler, or C library')
                continue
            for path in self.files:
                if of_table(path) and asked not in OF_TABLES:
                    continue
                with self.subTest(file=os.path.basename(path), asked=asked.__name__):
                    self.assertTrue(asked(path))

    def test_landing_pads(self):
        self.assertTrue(self.compile())
        pads = landing_pads(self.sample)
        if pads == 0 or not self.compile('-fcf-protection=none'):
            self.skipTest('not with this compiler')
        self.assertLess(landing_pads(self.sample), pads)
        for path in self.files:
            if of_table(path):
                continue
            with self.subTest(file=os.path.basename(path)):
                self.assertTrue(landing(path))

    def test_flag_is_missed(self):
        """Each of them is missed where its flag is not there."""
        for asked, flag in ASKED.items():
            with self.subTest(asked=asked.__name__):
                self.assertTrue(self.compile())
                if asked(self.sample) and self.compile(flag):
                    self.assertFalse(asked(self.sample))

    def test_level(self):
        """Level 2 and 3 of _FORTIFY_SOURCE cannot be told apart in a file: by how they were compiled."""
        with open(os.path.join(BUILD, 'compile_commands.json'), encoding='utf-8') as file:
            entries = json.load(file)
        commands = []
        for entry in entries:
            output = os.path.join(entry['directory'], re.search(r' -o (\S+)', entry['command'])[1])
            if os.path.relpath(output, BUILD).split(os.sep)[0] in ('codec', 'cli', 'plugin'):
                commands.append(entry['command'])
        self.assertGreater(len(commands), 100)
        for command in commands:
            self.assertRegex(command, r' -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 .*-fstack-clash-protection|'
                                      r'-fstack-clash-protection .*-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 ')


unittest.main()
