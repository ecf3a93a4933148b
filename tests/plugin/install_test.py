# SPDX-License-Identifier: GPL-2.0-or-later
"""Installing: what goes where, and that tshark finds it there. And the plugin alone in a folder."""
import os
import shutil
import subprocess
import sys

import host

CMAKE, BUILD, CONFIG, PLUGINS, DATA, EXTCAPS, STANDIN, BIN = sys.argv[1:9]
del sys.argv[1:9]
NAME = 'RPC-over-RDMA'
EXPORTED = {'plugin_version', 'plugin_want_major', 'plugin_want_minor', 'plugin_register', 'plugin_describe'}
# 4.0 has it with what is configured
PERSONAL = '.config/wireshark/extcap' if host.VERSION in ('3.6', '4.0') else '.local/lib/wireshark/extcap'
PROFILE = {'preferences', 'recent', 'colorfilters', 'dfilter_buttons', 'io_graphs'}


def install(*arguments, **environment):
    subprocess.run([CMAKE, '--install', BUILD, '--config', CONFIG, '--component', 'plugin', *arguments],
                   env=dict(os.environ, **environment), stdout=subprocess.PIPE, check=True)


def found(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


def expected(plugins, data, extcaps):
    return {os.path.join(plugins, 'epan', 'rpcrdma.so')} | \
        {os.path.join(data, 'profiles', NAME, name) for name in PROFILE} | \
        ({os.path.join(extcaps, 'rpcrdma-extcap')} if EXTCAPS else set())


def tshark(*arguments, **environment):
    """As somebody whose home is empty."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(('WIRESHARK_', 'XDG_'))}
    env.update(environment)
    if 'RPCRDMA_PRELOAD' in env:
        env['LD_PRELOAD'] = env['RPCRDMA_PRELOAD']
    done = subprocess.run([host.TSHARK, *arguments], env=env, capture_output=True, check=False,
                          **host.tshark.as_nobody())
    return done.stdout.decode(), done.stderr.decode()


class InstallTest(host.PluginTest):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.folder, 'home')
        os.mkdir(self.home)

    def sees(self, profile=True, **environment):
        # the user's profiles are made from the system's when they are first used
        os.chmod(self.home, 0o777)
        for at, folders, _ in os.walk(self.home):
            for name in folders:
                os.chmod(os.path.join(at, name), 0o777)
        own = ('-C', NAME) if profile else ()
        out, err = tshark('-r', host.capture('roce-nfs3-mini'), '-2', *own, HOME=self.home, **environment)
        self.assertNotIn('does not exist', err)
        self.assertNotIn("doesn't exist", err)
        messages = [line for line in out.splitlines() if ' NFS ' in line]
        self.assertGreater(len(messages), 20, err)
        self.assertEqual(profile, all('RDMA_' in line for line in messages))
        out, _ = tshark('-G', 'protocols', HOME=self.home, **environment)
        # not "plugins", which runs every capture program there is; 4.2 says more of each
        self.assertIn('rpcrdma', [line.split('\t')[2] for line in out.splitlines() if line.count('\t') > 1])

    def test_system(self):
        to = os.path.join(self.folder, 'root')
        install(DESTDIR=to)
        self.assertEqual(found(to), expected(PLUGINS[1:], DATA[1:], EXTCAPS[1:]))
        # a Wireshark that finds its own data there, too
        for name in os.listdir(DATA):
            if name != 'profiles':
                os.symlink(os.path.join(DATA, name), os.path.join(to + DATA, name))
        self.sees(WIRESHARK_PLUGIN_DIR=os.path.dirname(to + PLUGINS), WIRESHARK_DATA_DIR=to + DATA)
        self.offers(WIRESHARK_EXTCAP_DIR=to + EXTCAPS)

    def test_prefix(self):
        """Elsewhere than what the build was configured for: below that, in the same order."""
        to = os.path.join(self.folder, 'prefix')
        install('--prefix', to)
        names = found(to)
        self.assertEqual(len(names), len(expected('', '', '')))
        self.assertTrue(any(PLUGINS.endswith(os.path.dirname(os.path.dirname(name))) for name in names), names)

    def test_user(self):
        env = {key: value for key, value in os.environ.items() if not key.startswith('XDG_')}
        script = [CMAKE, '-D', 'user=ON', '-D', f'config={CONFIG}', '-P',
                  os.path.join(BUILD, 'plugin', 'install.cmake')]
        for _ in range(2):  # again changes nothing
            subprocess.run(script, env=dict(env, HOME=self.home), stderr=subprocess.PIPE,
                           stdout=subprocess.PIPE, check=True)
            self.assertEqual(found(self.home), expected(f'.local/lib/wireshark/plugins/{host.VERSION}',
                                                        '.config/wireshark', PERSONAL))
        self.sees()
        self.offers()

    def offers(self, **environment):
        """tshark lists the RDMA device, as its capture dialog would."""
        if not EXTCAPS or not STANDIN or os.path.exists(os.path.join(BIN, 'rpcrdma')) or \
                'RPCRDMA_PRELOAD' in os.environ:
            return  # no program, no device, or not ours
        host.tshark.launcher(os.path.join(self.home, 'rpcrdma'), host.RPCRDMA, STANDIN)
        out, err = tshark('-D', HOME=self.home, PATH=self.home + ':' + os.environ['PATH'],
                          STANDIN_CAPTURE=host.capture('roce-nfs3-mini'), **environment)
        self.assertRegex(out, r'(?m)^\d+\. rpcrdma-standin0 \(RDMA device: standin0', err)

    def test_the_users_changes_stay(self):
        script = [CMAKE, '-D', 'user=ON', '-D', f'config={CONFIG}', '-P',
                  os.path.join(BUILD, 'plugin', 'install.cmake')]
        kept = os.path.join(self.home, 'wireshark', 'profiles', NAME)
        os.makedirs(kept)
        env = dict(os.environ, HOME=self.home, XDG_CONFIG_HOME=self.home)
        done = subprocess.run(script, env=env, stderr=subprocess.PIPE, check=True, stdout=subprocess.PIPE)
        self.assertEqual(os.listdir(kept), [])
        self.assertIn(b'Kept', done.stderr + done.stdout)

    def test_alone_in_a_folder(self):
        folder = os.path.join(self.home, '.local', 'lib', 'wireshark', 'plugins', host.VERSION, 'epan')
        os.makedirs(folder)
        shutil.copy(host.PLUGIN, folder)
        self.sees(profile=False)

    def test_self_contained(self):
        if 'RPCRDMA_PRELOAD' in os.environ:
            self.skipTest("the sanitizers' symbols are in it")
        if not shutil.which('nm') or not shutil.which('readelf'):
            self.skipTest('no binutils')
        out = subprocess.run(['nm', '-D', host.PLUGIN], stdout=subprocess.PIPE, check=True).stdout.decode()
        symbols = [line.split()[-2:] for line in out.splitlines()]
        defined = {name for kind, name in symbols if kind not in 'Uwv'}
        self.assertLessEqual(defined, EXPORTED)
        self.assertGreaterEqual(defined, EXPORTED - {'plugin_describe'})
        self.assertEqual([name for kind, name in symbols if kind == 'U' and name.startswith('rpcrdma')], [])
        out = subprocess.run(['readelf', '-d', host.PLUGIN], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertNotIn('librpcrdma', out)
        self.assertNotIn('RUNPATH', out)


if __name__ == '__main__':
    host.unittest.main()
