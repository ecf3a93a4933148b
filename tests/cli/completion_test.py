# SPDX-License-Identifier: BSD-2-Clause
"""completion_test.py RPCRDMA CAPTURES SOURCE: what the shells offer is what the command has, each once."""
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
    for one in ${(P)@[-1]}; do
        one=${one//\\\\:/@}
        one=${one%%:*}
        print -r -- ${one//@/:}
    done
}
_files() { print FILES }
_message() { }
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
        self.assertIn('ietf-07', self.once('rpcrdma', 'decode', '--dialect', ''))
        self.assertEqual(self.once('rpcrdma', 'decode', '-t', ''), {'r', 'd', 'e', 'a', 'ad', 'u', 'ud'})
        self.assertIn('lo', self.once('rpcrdma', 'capture', '-i', ''))
        self.assertEqual(self.once('rpcrdma', 'capture', '-b', ''), {'duration:', 'filesize:', 'files:'})


class Bash(Completion, command.CommandTest):
    shell = 'bash'

    def offered(self, *words):
        run = subprocess.run(['bash', '-c', BASH, 'bash', os.path.join(SOURCE, 'rpcrdma.bash'), *words],
                             capture_output=True, text=True, check=True, env=self.environment)
        self.assertEqual(run.stderr, '')
        return run.stdout.split()


class Zsh(Completion, command.CommandTest):
    shell = 'zsh'

    def offered(self, *words):
        run = subprocess.run(['zsh', '-f', '-c', ZSH, 'zsh', os.path.join(SOURCE, 'rpcrdma.zsh'), *words],
                             capture_output=True, text=True, check=True, env=self.environment)
        self.assertEqual(run.stderr, '')
        return run.stdout.split()


class Fish(Completion, command.CommandTest):
    shell = 'fish'

    def offered(self, *words):
        run = subprocess.run(['fish', '--no-config', '-c', f'source {SOURCE}/rpcrdma.fish; complete -C "{" ".join(words)}"'],
                             capture_output=True, text=True, check=True, env=self.environment, cwd=self.folder)
        return [line.partition('\t')[0] for line in run.stdout.splitlines()]


if __name__ == '__main__':
    command.main()
