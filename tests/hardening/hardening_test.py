# SPDX-License-Identifier: BSD-2-Clause
"""hardening_test.py CMAKE BUILD READELF CC: every program and library that is installed is hardened: RELRO
and no lazy binding, a stack that is guarded and not executable, the C library's checked functions, code
anywhere in memory, and marks where a jump may end. What the compiler itself cannot do is not asked."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, READELF, CC = sys.argv[1:5]
del sys.argv[1:5]
# with level 2 and above these are __..._chk, whatever they are given
CHECKED = {'printf', 'fprintf', 'vfprintf', 'snprintf', 'vsnprintf', 'dprintf', 'vprintf'}
SAMPLE = '''#include <stdio.h>
int main(int argc, char **argv)
{
    char text[99];
    snprintf(text, sizeof(text), "%s", argv[argc - 1]);
    return text[1];
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
        source, cls.sample = (os.path.join(cls.folder.name, name) for name in ('sample.c', 'sample'))
        with open(source, 'w', encoding='ascii') as file:
            file.write(SAMPLE)
        for flags in (['-fstack-protector-strong', '-fcf-protection=full'],
                      ['-fstack-protector-strong', '-mbranch-protection=standard'], ['-fstack-protector-strong'], []):
            if subprocess.run([CC, '-O1', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2', *flags, source, '-o', cls.sample],
                              capture_output=True, check=False).returncode == 0:
                break

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        names = {os.path.basename(path) for path in self.files}
        self.assertTrue(any(name.startswith('librpcrdma.so') for name in names), names)
        for path in self.files:
            with self.subTest(file=os.path.basename(path)):
                yield path

    def test_relro(self):
        for path in self.each():
            self.assertIn('GNU_RELRO', look('-l', path))
            self.assertRegex(look('-d', path), r'BIND_NOW|FLAGS.*\bNOW\b')

    def test_memory(self):
        for path in self.each():
            self.assertRegex(look('-h', path), r'Type: +DYN')
            stack = re.search(r'GNU_STACK +(?:0x\w+ +){5}(\S+)', look('-l', path))
            self.assertEqual(stack[1], 'RW')
            self.assertNotRegex(look('-d', path), 'TEXTREL')

    def test_stack_protector(self):
        if '__stack_chk_fail' not in imports(self.sample):
            self.skipTest('not with this compiler')
        for path in self.each():
            self.assertIn('__stack_chk_fail', imports(path))

    def test_fortify(self):
        if '__snprintf_chk' not in imports(self.sample):
            self.skipTest('not with this C library')
        for path in self.each():
            self.assertEqual(imports(path) & CHECKED, set())

    def test_branches(self):
        if landing_pads(self.sample) == 0:
            self.skipTest('not with this compiler')
        for path in self.each():
            self.assertGreater(landing_pads(path), 20)


unittest.main()
