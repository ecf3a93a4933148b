# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile: Wireshark takes every line of it, and what it shows and looks for is there."""
import os
import re
import shutil

import host

NAME = 'RPC-over-RDMA'
PROFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'plugin', 'profile', NAME)
OWN = ('-C', NAME)


def lines(name):
    with open(os.path.join(PROFILE, name), encoding='ascii') as f:
        return [line.rstrip('\n') for line in f if not line.startswith('#')]


def columns():
    """(title, fields or None) each."""
    pairs = [re.findall(r'"([^"]*)"', line) for line in lines('preferences')]
    return [(pair[0], pair[1][5:].rsplit(':', 2)[0] if pair[1].startswith('%Cus:') else None)
            for pair in pairs if len(pair) == 2]


def colours():
    """Name -> filter, in order."""
    return dict(line.split('@')[1:3] for line in lines('colorfilters'))


def quoted(name):
    return [re.findall(r'"((?:[^"\\]|\\.)*)"', line) for line in lines(name)]


def unquoted(text):
    return text.replace('\\x22', '"')


def filters():
    found = list(colours().values())
    found += [unquoted(row[2]) for row in quoted('dfilter_buttons')]
    found += [unquoted(row[2]) for row in quoted('io_graphs') if row[2]]
    return list(dict.fromkeys(found))


def counts(path, wanted):
    """Filter -> frames that match it, in one run."""
    out, _ = host.run('-r', path, '-q', '-z', 'io,stat,0,' + ','.join(f'COUNT(frame.number)frame.number && ({w})'
                                                                    for w in wanted))
    row = [line for line in out.splitlines() if '<>' in line][-1].split('|')[2:]
    numbers = [int(cell) for cell in row if cell.strip()]
    assert len(numbers) == len(wanted), out
    return dict(zip(wanted, numbers))


class ProfileTest(host.PluginTest):
    @classmethod
    def setUpClass(cls):
        host.take_profile(PROFILE)

    def test_wireshark_takes_every_line(self):
        """What is wrong with a file of a profile is told on stderr, and it goes on without."""
        _, err = host.run('-r', host.capture('roce-nfs3-mini'), *OWN, '--color', '-c', '1')
        self.assertEqual([line for line in err.splitlines() if 'Running as user' not in line], [])

    def test_a_bad_line_is_told(self):
        """The test above could not fail otherwise."""
        copy = os.path.join(self.folder, 'bad')
        shutil.copytree(PROFILE, copy)
        with open(os.path.join(copy, 'colorfilters'), 'a', encoding='ascii') as f:
            f.write('@Nothing@rpcrdma.nothing@[0,0,0][0,0,0]\n')
        host.take_profile(copy)
        _, err = host.run('-r', host.capture('roce-nfs3-mini'), '-C', 'bad', '--color', '-c', '1')
        self.assertIn('rpcrdma.nothing', err)

    def test_columns(self):
        titles = [title for title, _ in columns()]
        seen = set()
        for name in host.recordings():
            names = [field for _, wanted in columns() if wanted for field in wanted.split(' || ')]
            rows = host.fields(host.capture(name), *names, passes=2)
            out, _ = host.run('-r', host.capture(name), *OWN, '-2', '-T', 'tabs')
            shown = [line.split('\t') for line in out.splitlines()]
            self.assertEqual(len(shown), len(rows), name)
            for row, cells in zip(rows, shown):
                self.assertEqual(len(cells), len(titles) + 1, name)  # an arrow between two
                values = dict(zip(names, row))
                cells = cells[:3] + cells[4:]
                for (title, wanted), cell in zip(columns(), cells):
                    if not wanted:
                        continue
                    expected = [v for field in wanted.split(' || ') for v in values[field]]
                    self.assertEqual(bool(expected), bool(cell.strip()), (name, title, row))
                    seen |= {title} if expected else set()
        self.assertEqual(seen, {title for title, wanted in columns() if wanted})

    def test_source_of_a_connect_request(self):
        """The InfiniBand dissector by itself leaves a LID there."""
        capture = host.capture('roce-nfs42-mini')
        for plugin in (True, False):
            out, _ = host.run('-r', capture, '-T', 'tabs', '-Y', 'infiniband.mad.attributeid == 0x10', plugin=plugin)
            sources = {line.split('\t')[2].strip() for line in out.splitlines()}
            self.assertEqual(sources == {'192.168.77.11'}, plugin, sources)

    def test_filters(self):
        """Each compiles, and has what it says."""
        wanted = filters()
        total = dict.fromkeys(wanted, 0)
        for name in host.recordings():
            path = host.capture(name)
            found = counts(path, wanted)
            for text, n in found.items():
                total[text] += n
            colour = {rule: found[text] for rule, text in colours().items()}
            self.assertGreater(colour['Call'], 0, name)
            self.assertGreater(colour['Reply'], 0, name)
            self.assertGreater(colour['Connection set-up'], 0, name)
            self.assertEqual(colour['Malformed RPC-over-RDMA'], 0, name)
            self.assertEqual(colour['Other RPC-over-RDMA message'], host.count(path, 'rpcrdma.xid'), name)
        for rule in ('Chunk data', 'Acknowledge'):
            self.assertGreater(total[colours()[rule]], 0, rule)
        buttons = {row[1]: total[unquoted(row[2])] for row in quoted('dfilter_buttons')}
        for button in ('Messages', 'Calls', 'Replies', 'Reverse', 'Chunks', 'RDMA', 'Findings', 'Set-up'):
            self.assertGreater(buttons[button], 0, button)

    def test_colours(self):
        """The rule that wins: the first of those that match."""
        rules = colours()
        path = host.capture('roce-nfs42-mini')
        rows = host.fields(path, 'frame.coloring_rule.name', 'rpcrdma.direction', 'rpcrdma.data.xid',
                           options=[*OWN, '--color'])
        self.assertGreater(len({row[0][0] for row in rows if row[0]}), 4)
        for rule, direction, data in rows:
            self.assertTrue(not rule or rule[0] in rules)
            if data and not direction:
                self.assertEqual(rule, ['Chunk data'])

    def test_graphs(self):
        """Each is drawn of a field that is a number, and there."""
        for row in quoted('io_graphs'):
            self.assertEqual(len(row), 9)
            if row[6]:
                how = row[5].replace('Y Field', row[6])
                out, _ = host.run('-r', host.capture('roce-nfs42-mini'), '-2', '-q', '-z', f'io,stat,0,{how}{row[6]}')
                last = [line for line in out.splitlines() if '<>' in line][-1].split('|')[2]
                self.assertGreater(float(last), 0, row)


if __name__ == '__main__':
    host.unittest.main()
