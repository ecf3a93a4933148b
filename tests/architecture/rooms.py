# SPDX-License-Identifier: BSD-2-Clause
"""rooms.py SOURCE TABLE: the rooms of the command, those of cli/report, and those of the Wireshark plugin include each
other's headers as the tables of docs/architecture.md say, and no others; and no room uses itself by way of others."""
import os
import re
import sys

# What a room's name begins with -> where its headers' names begin, and the folder there that has the rooms.
KINDS = {'cli': ('cli', ''), 'report': ('cli', 'report/'), 'plugin': ('plugin', '')}
NAME = re.compile(rf'`((?:{"|".join(KINDS)})/\w+)`')


def read_tables(path):
    """Room ("cli/NAME", "report/NAME" or "plugin/NAME") -> the rooms that it uses."""
    rooms = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            names = NAME.findall(cells[0])
            if len(cells) == 3:
                for name in names:
                    rooms[name] = set(NAME.findall(cells[1]))
    return rooms


def headers(folder):
    """Of each file in it and below: its path, and the headers that it includes, as written."""
    for path, _, names in os.walk(folder):
        for name in sorted(name for name in names if name.endswith(('.c', '.h'))):
            with open(os.path.join(path, name), encoding='utf-8') as file:
                yield os.path.join(path, name), re.findall(r'#include "([^"]+)"', file.read())


def breaches(source, rooms):
    for room, uses in sorted(rooms.items()):
        kind, name = room.split('/')
        top, under = KINDS[kind]
        for path, included in headers(os.path.join(source, top, under, name)):
            for header in included:
                if not os.path.isfile(os.path.join(source, top, header)) or not header.startswith(under):
                    continue  # of codec/, of another kind, or made
                parts = header[len(under):].split('/')
                used = f'{kind}/{parts[0]}' if len(parts) > 1 else None
                if used and used != room and used not in uses:
                    yield f'{os.path.relpath(path, source)} includes {header}'


def circles(rooms):
    for start in sorted(rooms):
        seen, todo = set(), list(rooms[start])
        while todo:
            room = todo.pop()
            if room not in seen:
                seen.add(room)
                todo += rooms[room]
        if start in seen:
            yield f'{start} uses itself by way of others'


def main():
    source, table = sys.argv[1:]
    rooms = read_tables(table)
    for kind, (top, under) in KINDS.items():
        folder = os.path.join(source, top, under)
        there = {f'{kind}/{entry.name}' for entry in os.scandir(folder) if entry.is_dir()
                 and any(True for _ in headers(entry.path))}
        named = {room for room in rooms if room.startswith(f'{kind}/')}
        if not there or there != named:
            sys.exit(f'{table} and {folder} differ in {sorted(there ^ named)}')
    found = [*breaches(source, rooms), *circles(rooms)]
    for breach in found:
        print('against the arrows:', breach)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
