# SPDX-License-Identifier: BSD-2-Clause
"""RPC messages and their transport headers of version 1, put together by hand, for the *_test.py beside."""
import struct


def words(*values):
    return struct.pack(f'>{len(values)}I', *values)


def hyper(value):
    return struct.pack('>Q', value)


def opaque(value=b''):
    return words(len(value)) + value + bytes(-len(value) % 4)


def gss(*four):
    return words(6) + opaque(words(*four) + opaque(b'a handle'))


def call(xid, procedure, arguments=b'', program=100003, version=4, cred=words(0, 0), lists=words(0, 0, 0)):
    return words(xid, 1, 32, 0) + lists + words(xid, 0, 2, program, version, procedure) + cred + words(0, 0) + arguments


def reply(xid, results=b'', verf=words(0, 0), lists=words(0, 0, 0)):
    return words(xid, 1, 32, 0) + lists + words(xid, 1, 0) + verf + words(0) + results
