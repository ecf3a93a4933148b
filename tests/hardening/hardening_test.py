# SPDX-License-Identifier: BSD-2-Clause
"""hardening_test.py CMAKE BUILD READELF CC: every program, library and module that is installed is hardened: RELRO and
no lazy binding, a stack that is guarded and not executable, no memory that is both written and run, the C library's
checked functions, code anywhere in memory, marks where a jump may end, no folder of the build that libraries are looked
for in, and no names but those that are meant for others. What the compiler itself cannot do is not asked. Whatever ELF
file is installed is looked at, whoever put it there, and the objects of each archive."""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, READELF, CC = sys.argv[1:5]
del sys.argv[1:5]
# with level 2 and above these are __..._chk, whatever they are given; but snprintf where gcc knows that all fits
CHECKED = {'printf', 'fprintf', 'vfprintf', 'vsnprintf', 'dprintf', 'vprintf'}
LARGE = 32768 # bytes of code: so much has arrays on its stack, and prints
OFFERED = r'(rpcrdma|plugin)_\w+' # what others may call: the library's, and what Wireshark asks a plugin for
SAMPLE = '''#include <stdio.h>
#ifdef MIXED
__attribute__((section(".mixed,\\"awx\\"#"))) int mixed = 1;
#endif
int rpcrdma_sample(void) { return 1; }
int (*const rpcrdma_address)(void) = rpcrdma_sample;
__attribute__((visibility("hidden"))) int inside(void) { return 2; }
int main(int argc, char **argv)
{
    char text[99];
    fgets(text, argc, stdin);
    return printf("%s %s", text, argv[0]) + inside();
}
'''


def look(option, path):
    return subprocess.run([READELF, '-W', option, path], capture_output=True, check=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stdout.decode()


def symbols(path):
    """(value, type, name, whether it is defined here) of each dynamic symbol. Another library's variable may be
    copied here (COPY); the name of a version (ABS) is no symbol."""
    found = re.findall(r'(?m)^ +\d+: (\w+) +\w+ (\w+) +\w+ +\w+ +(\S+) ([^\s@]+)', look('--dyn-syms', path))
    copies = set(re.findall(r' R_\w+_COPY +\w+ ([^\s@]+)', look('-r', path)))
    return [(int(value, 16), kind, name, section not in ('UND', 'ABS') and name not in copies)
            for value, kind, section, name in found]


def imports(path):
    return {name for _, _, name, defined in symbols(path) if not defined}


def code_bytes(path):
    return sum(int(size, 16) for size in re.findall(r' PROGBITS +\w+ \w+ (\w+) \w+ +AX ', look('-S', path)))


def relro(path):
    return 'GNU_RELRO' in look('-l', path)


def bound(path):
    return bool(re.search(r'BIND_NOW|FLAGS.*\bNOW\b', look('-d', path)))


def anywhere(path):
    """A program says that it is one (PIE), not that it is a library, which DYN alone would mean."""
    return bool(re.search(r'Type: +DYN', look('-h', path)) and
                ('INTERP' not in look('-l', path) or re.search(r'FLAGS_1.*\bPIE\b', look('-d', path))))


def text_is_fixed(path):
    return 'TEXTREL' not in look('-d', path)


def data_only(path):
    found = re.search(r'GNU_STACK +(?:0x\w+ +){5}(\S+)', look('-l', path))
    return found is not None and found[1] == 'RW'


def written_or_run(path):
    return not re.search(r'(?m)^ +LOAD +(?:0x\w+ +){5}RWE', look('-l', path))


def guarded(path):
    return '__stack_chk_fail' in imports(path) or code_bytes(path) < LARGE


def checked(path):
    names = imports(path)
    return not names & CHECKED and (any(name.endswith('_chk') for name in names) or code_bytes(path) < LARGE)


def found_by_the_system(path):
    """Libraries are where the system looks for them, or beside the program (a debug build's), not where it was built."""
    folders = re.findall(r'\((?:RPATH|RUNPATH)\)[^[]*\[(.*)\]', look('-d', path))
    return all(folder.startswith('$ORIGIN') for folder in ':'.join(folders).split(':') if folder)


def nothing_else_offered(path):
    return all(re.fullmatch(OFFERED, name) for _, kind, name, defined in symbols(path)
               if defined and kind in ('FUNC', 'OBJECT'))


def landing(path):
    """Each function that others call, and each whose address is in a table, begins with endbr64 (x86) or with a bti or
    paciasp (aarch64)."""
    with open(path, 'rb') as file:
        data = file.read()
    pad = {62: (b'\xf3\x0f\x1e\xfa',), 183: tuple(struct.pack('<I', word) for word in
           (0xd503245f, 0xd50324df, 0xd503233f, 0xd503237f))}.get(int.from_bytes(data[18:20], 'little'))
    sections = [tuple(int(word, 16) for word in match) for match in
                re.findall(r' \.text +PROGBITS +(\w+) (\w+) (\w+) ', look('-S', path))]
    places = {value for value, kind, _, defined in symbols(path) if defined and kind == 'FUNC'}
    places |= {int(word, 16) for word in re.findall(r'(?m)^\w+ +\w+ +R_\w+_RELATIVE? +(\w+)$', look('-r', path))}
    in_code = [place - at + offset for at, offset, size in sections for place in places if at <= place < at + size]
    return pad is not None and len(in_code) > 0 and all(data[at:at + 4] in pad for at in in_code)


def marked(path):
    """The mark by which a kernel would hold it to that: where each object of it has it, the C library's, too."""
    notes = look('-n', path)
    return 'IBT' in notes and 'SHSTK' in notes or 'BTI' in notes


def of_modules(path):
    return os.path.basename(os.path.dirname(path)) == 'rpcrdma' and path.endswith('.so')


def of_table(path):
    return of_modules(path) and os.path.basename(path) != 'devices.so'


# what is asked of each file, and how the sample is made that has it not
ASKED = {relro: ['-Wl,-z,norelro'], bound: ['-Wl,-z,lazy'], anywhere: ['-no-pie'], data_only: ['-Wl,-z,execstack'],
         written_or_run: ['-DMIXED'], guarded: ['-fno-stack-protector'], checked: ['-U_FORTIFY_SOURCE'],
         text_is_fixed: ['-fno-pic', '-fno-pie', '-mcmodel=large', '-Wl,-z,notext'],
         found_by_the_system: ['-Wl,-rpath,/usr/src/build'], nothing_else_offered: ['-rdynamic'],
         landing: ['-fcf-protection=none', '-mbranch-protection=none'], marked: ['-fcf-protection=none',
                                                                                '-mbranch-protection=none']}
OF_CODE = {guarded, checked, landing} # not asked of a table of functions (cli/module), which has none
SMALL = {guarded, checked} # asked of the sample, small as it is, as of what is large


class Hardening(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        prefix = os.path.join(cls.folder.name, 'installed')
        subprocess.run([CMAKE, '--install', BUILD, '--prefix', prefix], check=True, stdout=subprocess.DEVNULL)
        cls.files, cls.archives = [], []
        for folder, _, names in os.walk(prefix):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    continue
                with open(path, 'rb') as file:
                    begin = file.read(8)
                if begin.startswith(b'\x7fELF'):
                    cls.files.append(path)
                elif begin == b'!<arch>\n':
                    cls.archives.append(path)
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

    def has(self, asked):
        """Of the sample, however small it is."""
        global LARGE
        large, LARGE = LARGE, 0 if asked in SMALL else LARGE
        try:
            return asked(self.sample)
        finally:
            LARGE = large

    def test_files(self):
        """The library, and what is built of command and plugin, are among them, and large. Extcap is a script, and the
        capture helper of packages a copy of the command."""
        names = {os.path.basename(path): path for path in self.files if not of_modules(path)}
        library = [name for name in names if name.startswith('librpcrdma.so')]
        self.assertEqual(len(library), 1, names)
        large = {library[0]}
        for part, name in (('cli', 'rpcrdma'), ('plugin', 'rpcrdma.so')):
            self.assertEqual(os.path.exists(os.path.join(BUILD, part, name)), name in names, names)
            large |= {name} & set(names)
        for name in large:
            self.assertGreater(code_bytes(names[name]), LARGE, name)
        self.assertEqual(len(self.archives), 1)
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
            if not self.has(asked):
                print(f'{asked.__name__}: not with this compiler, or C library')
                continue
            for path in self.files:
                if of_table(path) and asked in OF_CODE:
                    continue
                with self.subTest(file=os.path.basename(path), asked=asked.__name__):
                    self.assertTrue(asked(path))

    def test_flag_is_missed(self):
        """Each of them is missed where its flag is not there."""
        for asked, flags in ASKED.items():
            with self.subTest(asked=asked.__name__):
                self.assertTrue(self.compile())
                if not self.has(asked):
                    continue
                for some in ([flags] if asked not in (landing, marked) else [[flag] for flag in flags]):
                    if self.compile(*some):
                        self.assertFalse(self.has(asked), some)
                        break
                else:
                    print(f'{asked.__name__}: this compiler does not make a sample without')

    def test_objects(self):
        """The library's own objects, which others link, or the one that was made of them: a stack that is not run, and
        the marks of CET or BTI."""
        self.assertTrue(self.compile('-c', '-fPIC'))
        mark = next((mark for mark in ('IBT, SHSTK', 'BTI') if mark in look('-n', self.sample)), None)
        for path in self.archives:
            sections = look('-S', path)
            n = sections.count('File: ')
            self.assertGreater(n, 0)
            self.assertGreater(code_bytes(path), LARGE)
            self.assertEqual(len(re.findall(r'\.note\.GNU-stack +PROGBITS +\w+ \w+ 0+ 00 +0 ', sections)), n)
            if mark:
                self.assertEqual(look('-n', path).count(mark), n)
        if mark and self.compile('-c', '-fPIC', '-fcf-protection=none'):
            self.assertNotIn(mark, look('-n', self.sample))

    def test_level(self):
        """Level 2 and 3 of _FORTIFY_SOURCE cannot be told apart in a file: by how they were compiled. So is the rest
        that a small file need not show."""
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
            self.assertIn(' -fstack-protector-strong ', command)
            self.assertIn(' -fvisibility=hidden ', command)
            self.assertNotRegex(command, r' -f(no-stack-protector|cf-protection=none)\b')


unittest.main()
