# SPDX-License-Identifier: BSD-2-Clause
"""completion_test.py RPCRDMA CAPTURES SOURCE: what the shells offer is what the command has, each once."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = sys.argv.pop(3)
# pylint: disable=wrong-import-position
import command

# bash-completion need not be installed
BASH = '''
_init_completion() {
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    if [[ $1 == -s && $cur == --*=* ]]; then prev=${cur%%=*} cur=${cur#*=}; fi
}
_filedir() { COMPREPLY=(FILES); }
. "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_rpcrdma
printf '%s\\n' "${COMPREPLY[@]}"
'''
# the functions of zsh's completion system that offer something; the real ones want a terminal
ZSH = '''
_describe() {
    local one
    [[ $1 == -o ]] && shift
    for one in ${(P)2}; do
        one=${one//\\\\:/@}
        one=${one%%:*}
        print -r -- ${one//@/:}
    done
}
_files() { print FILES }
_message() { }
compset() { PREFIX=${PREFIX#*=} }
file=$1; shift
words=("$@") CURRENT=$# PREFIX=$@[-1]
complete() { source $file }
complete
'''


def options_of(name):
    """-x and --long of the help text, read without the completions' own expressions."""
    said = subprocess.run([command.RPCRDMA, name, '--help'], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in said.splitlines():
        if line.startswith('  -'):
            for word in line.split()[:2]:
                if word.startswith('-'):
                    found.add(re.split('[=,]', word)[0])
    return found


def values_of(name):
    """--long: what its value is called in the help text."""
    said = subprocess.run([command.RPCRDMA, name, '--help'], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r'(?m)^  (?:-\w, )?(--[a-z-]+)=(\S+)', said))


def accepted(name, option):
    """The values of this option, in the command's own words where it refuses one; empty where it names none."""
    run = subprocess.run([command.RPCRDMA, name, option, 'nonsense!', command.capture()], capture_output=True, text=True,
                         check=False)
    rules = [json.loads(line) for line in
             subprocess.run([command.RPCRDMA, 'rules', '--json'], capture_output=True, check=True).stdout.splitlines()]
    classes = {one for rule in rules for one in rule['classes']}
    if 'there is no class' in run.stderr:
        return classes
    if 'there is no rule' in run.stderr:
        return classes | {rule['name'] for rule in rules}
    listed = re.search(rf'{option}(?: needs)? ([a-z]+(?:, [a-z]+)* or [a-z]+), not|'
                       r'(?:it has|choose|the only one is) ([^;]*);', run.stderr)
    return set(re.sub(', | or ', ' ', listed[1] or listed[2]).split()) if listed else set()


class Completion:
    def setUp(self):
        super().setUp()
        if not shutil.which(self.shell):
            self.skipTest(f'{self.shell} is not installed')
        os.symlink(command.RPCRDMA, os.path.join(self.folder, 'rpcrdma'))
        # zsh continues the children it waits for (SIGCONT), and the leak check waits for ever for one that should stop
        self.environment = {**os.environ, 'PATH': self.folder + ':' + os.environ['PATH'], 'HOME': self.folder,
                            'ASAN_OPTIONS': 'detect_leaks=0'}
        said = subprocess.run([command.RPCRDMA, '--help'], capture_output=True, text=True, check=True).stdout
        self.commands = re.findall(r'(?m)^  ([a-z]+) {2,}\S', said.partition('Commands:')[2].partition('\n\n')[0])

    def once(self, *words):
        offered = self.offered(*words)
        self.assertEqual(sorted(offered), sorted(set(offered)), f'{words}: something is offered twice')
        return set(offered)

    def test_commands(self):
        self.assertIn('decode', self.commands)
        offered = self.once('rpcrdma', '')
        self.assertEqual({one for one in offered if not one.startswith('-')}, {*self.commands, 'help'})
        self.assertEqual(self.once('rpcrdma', 'help', '') - {'FILES'}, {*self.commands, 'help'})

    def test_options(self):
        for name in self.commands:
            wanted = options_of(name)
            self.assertIn('--help', wanted)
            self.assertEqual(self.once('rpcrdma', name, '-'), wanted, name)

    def test_values(self):
        """After an option its values, files where it takes a file, and files nowhere else."""
        files, seen = self.once('rpcrdma', 'extract', '-w', ''), 0
        self.assertTrue(files)
        options = {option: (name, kind) for name in self.commands for option, kind in values_of(name).items()}
        for option, (name, kind) in options.items():
            offered = self.once('rpcrdma', name, option, '')
            if 'FILE' in kind or 'OUT' in kind:
                self.assertEqual(offered, files, option)
            elif kind not in ('DIR', 'DEV', 'FORMAT', 'CONDITION') or option == '--format':
                wanted = accepted(name, option)
                seen += bool(wanted)
                self.assertEqual(offered, wanted, option)
        self.assertGreaterEqual(seen, 8)  # sort, per, rule, ignore, class, severity, fail-on, format, dialect
        self.assertEqual(self.once('rpcrdma', 'decode', '-t', ''), {'r', 'd', 'e', 'a', 'ad', 'u', 'ud'})
        self.assertIn('lo', self.once('rpcrdma', 'capture', '-i', ''))
        self.assertEqual(self.once('rpcrdma', 'capture', '-b', ''), {'duration:', 'filesize:', 'files:'})
        self.assertEqual({one.rpartition('=')[2] for one in self.once('rpcrdma', 'check', '--format=j')
                          if one.rpartition('=')[2].startswith('j')}, {'json', 'junit'})

    def test_names(self):
        self.assertLessEqual({'credit', 'rpc-error'}, self.once('rpcrdma', 'rules', ''))
        self.assertIn('rpcrdma.read.position', self.once('rpcrdma', 'fields', ''))


class Bash(Completion, command.CommandTest):
    shell = 'bash'

    def offered(self, *words):
        run = subprocess.run(['bash', '-c', BASH, 'bash', os.path.join(SOURCE, 'completion', 'rpcrdma.bash'), *words],
                             capture_output=True, text=True, check=True, env=self.environment)
        self.assertEqual(run.stderr, '')
        return run.stdout.split()


class Zsh(Completion, command.CommandTest):
    shell = 'zsh'

    def offered(self, *words):
        run = subprocess.run(['zsh', '-f', '-c', ZSH, 'zsh', os.path.join(SOURCE, 'completion', 'rpcrdma.zsh'), *words],
                             capture_output=True, text=True, check=True, env=self.environment)
        self.assertEqual(run.stderr, '')
        return run.stdout.split()


class Fish(Completion, command.CommandTest):
    shell = 'fish'

    def offered(self, *words):
        run = subprocess.run(['fish', '--no-config', '-c', f'source {SOURCE}/completion/rpcrdma.fish; complete -C "{" ".join(words)}"'],
                             capture_output=True, text=True, check=True, env=self.environment, cwd=self.folder)
        return [line.partition('\t')[0] for line in run.stdout.splitlines()]


if __name__ == '__main__':
    command.main()
