# SPDX-License-Identifier: BSD-2-Clause
"""rooms.py REPORT TABLE: the rooms of cli/report include each other's headers as the table of docs/architecture.md
says, and no others."""
import os
import re
import sys


def read_table(path):
    """Room -> the rooms that it uses."""
    rooms = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            name = re.fullmatch(r'`report/(\w+)`', cells[0])
            if len(cells) == 3 and name:
                rooms[name.group(1)] = set(re.findall(r'`report/(\w+)`', cells[1]))
    return rooms


def breaches(report, rooms):
    for folder, _, names in os.walk(report):
        room = os.path.relpath(folder, report)
        for name in sorted(name for name in names if name.endswith(('.c', '.h'))):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                used = set(re.findall(r'#include "report/(\w+)/', file.read()))
            if room != '.':
                for other in sorted(used - {room} - rooms.get(room, set())):
                    yield f'{room}/{name} includes a header of {other}'


def main():
    rooms = read_table(sys.argv[2])
    folders = {entry.name for entry in os.scandir(sys.argv[1]) if entry.is_dir()}
    if not folders or folders != set(rooms):
        sys.exit(f'{sys.argv[2]} has the rooms {sorted(rooms)}, and {sys.argv[1]} {sorted(folders)}')
    found = list(breaches(sys.argv[1], rooms))
    for breach in found:
        print('against the arrows:', breach)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
