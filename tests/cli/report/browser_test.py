# SPDX-License-Identifier: BSD-2-Clause
"""report --html in a browser (Debian's chromium): nothing on the console, nothing wider than the page, on a narrow and
a wide one, dark and light; tables that sort, also by address. Skipped where there is no chromium."""
import html
import json
import os
import re
import shutil
import subprocess
import unittest

from command import CommandTest, capture
import rule_talk
import rules

BROWSER = shutil.which('chromium')
DARK, LIGHT = 0, 1
# what reaches beyond the page but for what scrolls by itself; the colours; operations after a click on how many there are,
# clients after one on their names
LOOK = '''
addEventListener('load', function () {
  var frame = document.querySelector('iframe'), page = frame.contentDocument, view = frame.contentWindow;
  var wide = [], tables = page.querySelectorAll('table'), table = tables[0], clients = tables[1];
  page.querySelectorAll('body *').forEach(function (one) {
    if (one.getBoundingClientRect().right > view.innerWidth + 1 && !one.closest('.wide')) wide.push(one.tagName);
  });
  table.querySelectorAll('th')[1].click();
  clients.querySelectorAll('th')[0].click();
  document.documentElement.dataset.seen = JSON.stringify({
    width: view.innerWidth, scroll: page.documentElement.scrollWidth, wide: wide,
    back: view.getComputedStyle(page.body).backgroundColor, text: view.getComputedStyle(page.body).color,
    ops: Array.from(table.tBodies[0].rows).map(function (row) { return Number(row.cells[1].textContent); }),
    clients: Array.from(clients.tBodies[0].rows).map(function (row) { return row.cells[0].textContent; }),
    bars: page.querySelectorAll('svg[aria-label=phases] rect').length });
});
'''


@unittest.skipUnless(BROWSER, 'no chromium')
class Browser(CommandTest):
    def look(self, path, width, colours):
        report, page = os.path.join(self.folder, 'report.html'), os.path.join(self.folder, 'page.html')
        self.run_command('report', '--html', report, path)
        with open(report, encoding='utf-8') as file:
            content = file.read()
        with open(page, 'w', encoding='utf-8') as file:  # a window is never narrower than 500 pixels, a frame may be
            file.write(f'<!DOCTYPE html><script>{LOOK}</script>'
                       f'<iframe style="width:{width}px;height:900px;border:0" srcdoc="{html.escape(content)}"></iframe>')
        run = subprocess.run([BROWSER, '--headless', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr',
                              f'--user-data-dir={self.folder}/profile', '--window-size=1500,1000',
                              f'--blink-settings=preferredColorScheme={colours}', '--dump-dom', f'file://{page}'],
                             capture_output=True, check=False, timeout=120, env={**os.environ, 'HOME': self.folder})
        said = run.stderr.decode(errors='replace')
        self.assertEqual([line for line in said.splitlines() if 'CONSOLE' in line], [])
        seen = re.search(r'data-seen="([^"]*)"', run.stdout.decode(errors='replace'))
        if not seen:
            self.skipTest(f'chromium shows nothing here: {said[-300:]}')
        return json.loads(html.unescape(seen.group(1)))

    def test_it_fits(self):
        for name in ('roce-nfs3-mini', 'iwarp-nfs41-mini'):
            for width in (400, 1400):
                for colours in (DARK, LIGHT):
                    with self.subTest(name, width=width, colours=colours):
                        seen = self.look(capture(name), width, colours)
                        self.assertEqual(seen['width'], width)
                        self.assertLessEqual(seen['scroll'], width)
                        self.assertEqual(seen['wide'], [])
                        back, text = (sum(map(int, re.findall(r'\d+', seen[which])[:3])) for which in ('back', 'text'))
                        self.assertEqual(back < text, colours == DARK)
                        self.assertEqual(seen['ops'], sorted(seen['ops'], reverse=True))
                        self.assertGreater(seen['bars'], 0)

    def test_sorted_by_address(self):
        def hosts(c, _):
            for number, host in enumerate(('192.0.2.9', '192.0.2.110', '192.0.2.11', '10.0.0.3'), 2):
                rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=(host, rule_talk.SERVER)).null()
        path = os.path.join(self.folder, 'hosts.pcap')
        rules.write(path, hosts, True)
        self.assertEqual(self.look(path, 1400, LIGHT)['clients'], ['10.0.0.3', '192.0.2.9', '192.0.2.11', '192.0.2.110'])


if __name__ == '__main__':
    unittest.main()
