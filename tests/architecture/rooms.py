# SPDX-License-Identifier: BSD-2-Clause
"""rooms.py CLI TABLE: the rooms of the command, and those of cli/report, include each other's headers as the tables of
docs/architecture.md say, and no others; and no room uses itself by way of others."""
import os
import re
import sys


def read_tables(path):
    """Room ("cli/NAME" or "report/NAME") -> the rooms that it uses."""
    rooms = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            names = re.findall(r'`((?:cli|report)/\w+)`', cells[0])
            if len(cells) == 3:
                for name in names:
                    rooms[name] = set(re.findall(r'`((?:cli|report)/\w+)`', cells[1]))
    return rooms


def headers(folder):
    """Of each file in it and below: its path, and the headers that it includes, as written."""
    for path, _, names in os.walk(folder):
        for name in sorted(name for name in names if name.endswith(('.c', '.h'))):
            with open(os.path.join(path, name), encoding='utf-8') as file:
                yield os.path.join(path, name), re.findall(r'#include "([^"]+)"', file.read())


def breaches(cli, rooms):
    for room, uses in sorted(rooms.items()):
        kind, name = room.split('/')
        top = cli if kind == 'cli' else os.path.join(cli, 'report')
        for path, included in headers(os.path.join(top, name)):
            for header in included:
                if not os.path.isfile(os.path.join(cli, header)):
                    continue  # of codec/, or made
                parts = header.split('/')
                if kind == 'report':
                    used = '/'.join(parts[:2]) if parts[0] == 'report' and len(parts) > 2 else None
                else:
                    used = f'cli/{parts[0]}' if len(parts) > 1 else None
                if used and used != room and used not in uses:
                    yield f'{os.path.relpath(path, cli)} includes {header}'


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
    cli, table = sys.argv[1:]
    rooms = read_tables(table)
    for kind, top in (('cli', cli), ('report', os.path.join(cli, 'report'))):
        there = {f'{kind}/{entry.name}' for entry in os.scandir(top) if entry.is_dir()
                 and any(True for _ in headers(entry.path))}
        named = {room for room in rooms if room.startswith(f'{kind}/')}
        if not there or there != named:
            sys.exit(f'{table} and {top} differ in {sorted(there ^ named)}')
    found = [*breaches(cli, rooms), *circles(rooms)]
    for breach in found:
        print('against the arrows:', breach)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
