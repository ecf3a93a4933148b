# SPDX-License-Identifier: BSD-2-Clause
"""The rules of codec/rule.def, each id of them."""
import collections
import os
import re

# raised: the id that code names where it finds it
Rule = collections.namedtuple('Rule', 'id raised name severity section')

ROW = re.compile(r'^RULE(_BOTH|_2|)\((\w+), "([a-z0-9-]+)", RPCRDMA_(\w+), ("[^"]*"|NULL)(?:, ("[^"]*"))?, "[^"]*"\)$',
                 re.MULTILINE)


def read(source):
    """Of a rule of both versions of RPC-over-RDMA: id, and id_2, which id becomes by the version of what was found."""
    with open(os.path.join(source, 'codec', 'rule.def'), encoding='utf-8') as file:
        text = file.read()
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r'^RULE\w*\(', text, re.MULTILINE)):
        raise ValueError('rule.def: a rule that cannot be read')
    for kind, rule, name, severity, section, section_2 in rows:
        if bool(section_2) != (kind == '_BOTH'):
            raise ValueError(f'rule.def: {rule} is no RULE{kind}')
        one = Rule(rule, rule, name, severity.lower(), '' if section == 'NULL' else section.strip('"'))
        yield one._replace(id=rule + '_2') if kind == '_2' else one
        if kind == '_BOTH':
            yield one._replace(id=rule + '_2', section=section_2.strip('"'))


def names(source):
    return {one.name for one in read(source)}
