# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma-batch: 41 capture points by xargs and, where it is installed, by Slurm: the tables are byte for byte those of
one process that reads point after point, whatever was killed in between."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from command import CAPTURES, RPCRDMA, CommandTest, capture

BATCH = os.path.join(CAPTURES, '..', 'cli', 'rpcrdma-batch')
NAMES = ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-nfs41-callback', 'roce-long-call', 'iwarp-nfs41-mini')
POINTS, FEW = 41, 13
# Writes half of what it should, and takes its caller, a task, with it. Once per point.
KILLED = '''#!/bin/sh
work=$(basename "$(dirname "$3")")
mark=%s/killed.${work%%%%.*}
if [ ! -e "$mark" ]; then
    : >"$mark"
    mkdir "$3"
    echo '{"half":' >"$3/rpcs.ndjson"
    kill -9 $PPID
    exit 1
fi
exec %s "$@"
'''


# On the node n2 it writes half of what it should, says which processes it is of, and never ends.
STUCK = '''#!/bin/sh
if [ "${SLURMD_NODENAME-}" = n2 ]; then
    mkdir "$3"
    echo '{"half":' >"$3/rpcs.ndjson"
    read -r _ _ _ step _ </proc/$PPID/stat
    echo "$step $PPID $$" >%s/stuck.new
    mv %s/stuck.new %s/stuck
    exec sleep 1000
fi
exec %s "$@"
'''


def port():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


class BatchTest(CommandTest):
    points = POINTS

    def batch(self, *arguments, status=0, rpcrdma=RPCRDMA, **environment):
        run = subprocess.run(['sh', BATCH, *arguments] if arguments[0] in ('plan', '--help') else [BATCH, *arguments],
                             env={**os.environ, 'RPCRDMA': rpcrdma, **environment}, capture_output=True,
                             text=True, check=False, timeout=300)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def rings(self):
        """Points; every fourth is a ring of two files, numbered past what sorts by name."""
        root = os.path.join(self.folder, 'rings')
        for i in range(self.points):
            folder = os.path.join(root, f'host{i:02}')
            os.makedirs(folder)
            numbers = ('99999', '100000') if i % 4 == 0 else ('00001',)
            for k, number in enumerate(numbers):
                shutil.copy(capture(NAMES[(i + k) % len(NAMES)]),
                            os.path.join(folder, f'mlx5_0_{number}_20261123101{k}00.pcap'))
        with open(os.path.join(root, 'README.txt'), 'w', encoding='ascii') as other:
            other.write('no capture\n')
        return root

    def one_process(self, root):
        """The tables, by calling the command for one point after the other."""
        tables = {}
        for i in range(self.points):
            folder = os.path.join(root, f'host{i:02}')
            out = os.path.join(self.folder, f'reference{i}')
            files = sorted(os.listdir(folder), key=lambda name: int(name.split('_')[2]))
            self.run_command('export', '--ndjson', out, *(os.path.join(folder, name) for name in files))
            for name in os.listdir(out):
                with open(os.path.join(out, name), 'rb') as table:
                    tables[name] = tables.get(name, b'') + table.read()
        return tables

    def joined(self, plan):
        self.batch('join', plan)
        folder = os.path.join(plan, 'tables')
        subprocess.run(['sha256sum', '--status', '-c', 'SHA256SUMS'], cwd=folder, check=True)
        tables = {}
        for name in set(os.listdir(folder)) - {'SHA256SUMS'}:
            with open(os.path.join(folder, name), 'rb') as table:
                tables[name] = table.read()
        return tables

    def same(self, plan, want):
        tables = self.joined(plan)
        self.assertEqual(sorted(tables), sorted(want))
        for name, data in want.items():
            self.assertTrue(tables[name] == data, name)
        rows = [json.loads(line) for line in tables['captures.ndjson'].splitlines()]
        self.assertEqual(len(rows), self.points + (self.points + 3) // 4)

    def plan(self, root, name, *options):
        plan = os.path.join(self.folder, name)
        said = self.batch('plan', *options, plan, root)
        self.assertIn(f'{self.points} points of {self.points + (self.points + 3) // 4} files; 1 other file left out', said)
        return plan

    def test_same_points(self):
        """Of a folder those of `report -j`: no hidden file or folder, links to files, none to folders."""
        root = os.path.join(self.folder, 'root')
        os.makedirs(os.path.join(root, '.hidden'))
        os.makedirs(os.path.join(root, 'host'))
        apart = os.path.join(self.folder, 'apart.pcap')
        for path in (apart, os.path.join(root, '.hidden', 'a.pcap'), os.path.join(root, '.b.pcap'),
                     os.path.join(root, 'host', 'c.pcap'), os.path.join(root, 'd.pcap')):
            shutil.copy(capture(), path)
        os.symlink(apart, os.path.join(root, 'host', 'link.pcap'))
        os.symlink(root, os.path.join(root, 'host', 'folder.pcap'))
        plan = os.path.join(self.folder, 'plan')
        self.batch('plan', plan, root)
        points = []
        for name in sorted(os.listdir(os.path.join(plan, 'points')), key=int):
            with open(os.path.join(plan, 'points', name), encoding='utf-8') as file:
                points.append(os.path.relpath(file.read().strip(), root))
        rows = self.run_command('report', '--json', '-j', '1', root).splitlines()
        self.assertEqual(points, [json.loads(row)['point'] for row in rows])
        self.assertEqual(points, ['d.pcap', 'host/c.pcap', 'host/link.pcap'])

    def test_plan_that_fails(self):
        """Nothing stays of it: the next one has its folder."""
        root = os.path.join(self.folder, 'root')
        os.makedirs(root)
        plan = os.path.join(self.folder, 'plan')
        self.assertIn('no capture is there', self.batch('plan', plan, root, status=2))
        self.assertFalse(os.path.exists(plan))
        self.assertIn('cannot be read', self.batch('plan', plan, capture(), os.path.join(root, 'none.pcap'), status=2))
        shutil.copy(capture(), os.path.join(root, 'a.pcap'))
        self.assertIn('1 point of 1 file;', self.batch('plan', plan, root))
        self.assertIn('not made', self.batch('plan', plan, root, status=2))
        self.assertTrue(os.path.exists(os.path.join(plan, 'plan')))

    def test_xargs(self):
        root = self.rings()
        plan = self.plan(root, 'plan')
        self.batch('run', '-j', '3', plan)
        self.same(plan, self.one_process(root))

    def test_one_after_the_other(self):
        self.points = FEW
        root = self.rings()
        plan = self.plan(root, 'plan')
        self.batch('run', '-j', '1', plan)
        self.same(plan, self.one_process(root))

    def test_killed(self):
        self.points = FEW
        root = self.rings()
        want = self.one_process(root)
        plan = self.plan(root, 'plan')
        killed = os.path.join(self.folder, 'killed.sh')
        with open(killed, 'w', encoding='utf-8') as out:
            out.write(KILLED % (self.folder, RPCRDMA))
        os.chmod(killed, 0o755)
        for point in (1, 2, FEW):
            self.batch('task', plan, str(point), status=-9, rpcrdma=killed)
        self.assertIn(f'0 of {self.points} points are done', self.batch('status', plan, status=1))
        self.batch('join', plan, status=2)
        self.assertFalse(os.path.exists(os.path.join(plan, 'tables')))
        self.batch('run', '-j', '2', plan)
        self.assertEqual(len(os.listdir(os.path.join(plan, 'work'))), self.points + 3)
        self.same(plan, want)
        self.batch('clean', plan)
        self.assertEqual(len(os.listdir(os.path.join(plan, 'work'))), self.points)
        # Requeued though done: nothing is added. Damaged: done again.
        self.batch('task', plan, SLURM_ARRAY_TASK_ID='7')
        self.assertEqual(len(os.listdir(os.path.join(plan, 'work'))), self.points)
        work = next(name for name in os.listdir(os.path.join(plan, 'work')) if name.startswith('7.'))
        with open(os.path.join(plan, 'work', work, 'tables', 'rpcs.ndjson'), 'ab') as table:
            table.write(b'{}\n')
        self.assertIn('point 7: not done', self.batch('status', plan, status=1))
        self.batch('run', plan)
        self.same(plan, want)

    def test_zstd(self):
        if not shutil.which('zstd'):
            self.skipTest('there is no zstd')
        self.points = FEW
        root = self.rings()
        want = self.one_process(root)
        plan = self.plan(root, 'plan', '-z')
        self.batch('run', '-j', '2', plan)
        tables = self.joined(plan)
        self.assertEqual(sorted(tables), sorted(name + '.zst' for name in want))
        data = subprocess.run(['zstd', '-dc'], input=tables['rpcs.ndjson.zst'], capture_output=True, check=True).stdout
        self.assertTrue(data == want['rpcs.ndjson'])

    def test_refused(self):
        self.points = FEW
        root = self.rings()
        with open(os.path.join(root, 'host03', 'cut.pcap'), 'wb') as cut, open(capture(), 'rb') as whole:
            cut.write(whole.read()[:5000])
        plan = os.path.join(self.folder, 'plan')
        self.batch('plan', plan, root)
        self.assertIn('ended with status 2', self.batch('run', plan, status=2))
        self.assertIn(f'{self.points} of {self.points + 1} points are done', self.batch('status', plan, status=1))
        self.batch('plan', plan, root, status=2)
        self.batch('plan', plan + '2', os.path.join(self.folder, 'nothing'), status=2)
        self.batch('task', plan, '99', status=2)
        self.batch('what', status=2)
        self.assertIn('rpcrdma-batch plan', self.batch('--help'))

    def test_one(self):
        """One is no plural."""
        self.points = 2
        said = self.batch('plan', os.path.join(self.folder, 'plan'), os.path.join(self.rings(), 'host01'))
        self.assertEqual(said, '1 point of 1 file; 0 other files left out\n')
        said = self.batch('plan', os.path.join(self.folder, 'plan2'), os.path.join(self.folder, 'rings'))
        self.assertEqual(said, '2 points of 3 files; 1 other file left out\n')

    def test_no_plan(self):
        """Each says that alone."""
        none = os.path.join(self.folder, 'none')
        for what in ('run', 'submit', 'task', 'status', 'join', 'clean'):
            self.assertEqual(self.batch(what, none, status=2), f'rpcrdma-batch: {none}: no plan is there\n', what)

    def test_terminal(self):
        """Names of files may hold what a terminal obeys, or echo: nothing raw."""
        name = os.path.join(self.folder, 'a\x1b[2J\\033\u00e9.pcap')
        plan = os.path.join(self.folder, 'plan')
        said = self.batch('plan', plan, name, status=2)
        self.assertIn('a\\x1b[2J\\033\\xc3\\xa9.pcap: cannot be read\n', said)
        self.assertFalse(os.path.exists(plan))
        shutil.copy(capture(), name)
        self.batch('plan', plan, name)
        self.assertIn('a\\x1b[2J\\033\\xc3\\xa9.pcap\n', self.batch('status', plan, status=1))

    def test_shellcheck(self):
        if not shutil.which('shellcheck'):
            self.skipTest('shellcheck is not installed')
        subprocess.run(['shellcheck', '-s', 'sh', BATCH], check=True)

    def daemon(self, *command):
        # pylint: disable=consider-using-with
        log = open(os.path.join(self.folder, os.path.basename(command[0]) + '.out'), 'ab')
        self.addCleanup(log.close)
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **self.slurm})
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def test_slurm(self):
        path = os.environ['PATH'] + ':/usr/sbin:/sbin'
        for program in 'munged', 'slurmctld', 'slurmd', 'sbatch', 'scontrol':
            if not shutil.which(program, path=path):
                self.skipTest(f'{program} is not installed')
        if os.geteuid():
            self.skipTest('slurmd wants to be root')
        here, f = socket.gethostname().split('.')[0], self.folder
        os.chmod(f, 0o755)
        with open(f'{f}/key', 'wb') as key:
            key.write(os.urandom(128))
        os.chmod(f'{f}/key', 0o400)
        nodes = ''.join(f'NodeName=n{i} NodeHostname={here} NodeAddr=127.0.0.1 Port={port()} CPUs=1\n' for i in (1, 2))
        with open(f'{f}/slurm.conf', 'w', encoding='ascii') as conf:
            conf.write(f'''ClusterName=test
SlurmctldHost={here}(127.0.0.1)
SlurmctldPort={port()}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={f}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={f}/state
SlurmdSpoolDir={f}/spool.%n
SlurmctldPidFile={f}/slurmctld.pid
SlurmdPidFile={f}/slurmd.%n.pid
SlurmctldLogFile={f}/slurmctld.log
SlurmdLogFile={f}/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=10
{nodes}PartitionName=all Nodes=n1,n2 Default=YES
''')
        os.mkdir(f'{f}/state')
        self.slurm = {'SLURM_CONF': f'{f}/slurm.conf', 'PATH': path}
        self.daemon('munged', '--foreground', '--force', f'--key-file={f}/key', f'--socket={f}/munge.socket',
                    f'--pid-file={f}/munge.pid', f'--log-file={f}/munge.log', f'--seed-file={f}/munge.seed')
        self.wait(lambda: os.path.exists(f'{f}/munge.socket'))
        self.daemon('slurmctld', '-D')
        slurmd = [self.daemon('slurmd', '-D', '-N', f'n{i}') for i in (1, 2)]
        self.wait(lambda: 'idle' in self.ask('sinfo', '-h', '-n', 'n1', '-o', '%t') and
                  'idle' in self.ask('sinfo', '-h', '-n', 'n2', '-o', '%t'))
        root = self.rings()
        want = self.one_process(root)
        plan = self.plan(root, 'plan')
        stuck = os.path.join(f, 'stuck.sh')
        with open(stuck, 'w', encoding='utf-8') as out:
            out.write(STUCK % (f, f, f, RPCRDMA))
        os.chmod(stuck, 0o755)
        self.batch('submit', plan, f'--chdir={f}', rpcrdma=stuck, **self.slurm)
        # A node dies with its task midway, and all its processes: the other one does all.
        self.wait(lambda: os.path.exists(f'{f}/stuck'))
        slurmd[1].kill()
        with open(f'{f}/stuck', encoding='ascii') as pids:
            for pid in pids.read().split():
                os.kill(int(pid), signal.SIGKILL)
        self.wait(lambda: len(os.listdir(os.path.join(plan, 'done'))) == self.points)
        self.assertEqual(len(os.listdir(os.path.join(plan, 'work'))), self.points + 1)
        self.same(plan, want)
        self.batch('clean', plan)
        self.assertEqual(len(os.listdir(os.path.join(plan, 'work'))), self.points)

    def ask(self, *command):
        return subprocess.run(command, env={**os.environ, **self.slurm}, capture_output=True, text=True, check=False,
                              timeout=60).stdout

    def wait(self, true, seconds=300):
        """No test on time: only that it does not hang."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                for name in sorted(os.listdir(self.folder)):
                    if name.endswith(('.log', '.out')):
                        with open(os.path.join(self.folder, name), encoding='utf-8', errors='replace') as log:
                            sys.stderr.write(f'== {name}\n{log.read()[-3000:]}')
                self.fail('it does not come')
            time.sleep(0.2)


if __name__ == '__main__':
    unittest.main()
