# SPDX-License-Identifier: BSD-2-Clause
"""What `rpcrdma extract` wrote: every file that the kernels' truth names is put together again from the
NFS messages, and tshark reads the capture that was made of them."""
import collections
import hashlib
import json
import os
import struct

import tshark

NFS = 100003
NAMED = {'read', 'write', 'setxattr'} # rows of files.tsv whose bytes travelled


class Xdr:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError(f'{n} bytes at {self.at}, the message has {len(self.data)}')
        self.at += n
        return self.data[self.at - n:self.at]

    def u32(self):
        return struct.unpack('>I', self.take(4))[0]

    def u64(self):
        return struct.unpack('>Q', self.take(8))[0]

    def opaque(self):
        n = self.u32()
        out = self.take(n)
        self.take(-n % 4)
        return out


def call_body(data):
    """Program, version, procedure, and the arguments."""
    x = Xdr(data)
    x.take(8)
    assert x.u32() == 2
    head = x.u32(), x.u32(), x.u32()
    for _ in range(2):
        x.u32()
        x.opaque()
    return head, x


def reply_body(data):
    x = Xdr(data)
    x.take(8)
    if x.u32() != 0:
        return None
    x.u32()
    x.opaque()
    return x if x.u32() == 0 else None


class Files:
    """File handle -> bytes, of all READs and of all WRITEs; and the values of SETXATTRs."""

    def __init__(self):
        self.read, self.write = (collections.defaultdict(bytearray) for _ in range(2))
        self.earlier = set()
        self.values = []
        self.reads = {}

    def put(self, file, offset, data, end=False):
        """A file that is gone over again was whole before: what it was then is remembered."""
        if offset == 0 and file:
            self.earlier.add(digest(bytes(file)))
        if not data:
            return
        if len(file) < offset + len(data):
            file.extend(bytes(offset + len(data) - len(file)))
        file[offset:offset + len(data)] = data
        if end:
            del file[offset + len(data):]

    def call(self, key, data):
        (program, version, procedure), x = call_body(data)
        if program != NFS:
            return
        if version == 3 and procedure == 6:
            self.reads[key] = 3, x.opaque(), x.u64()
        elif version == 3 and procedure == 7:
            handle, offset = x.opaque(), x.u64()
            x.take(8)
            self.put(self.write[handle], offset, x.opaque())
        elif version == 4 and procedure == 1:
            self.call4(key, x)

    def call4(self, key, x):
        """As far as SEQUENCE, PUTFH and what does the work: all that Linux sends for files."""
        handle = None
        x.opaque()
        x.u32()
        for _ in range(x.u32()):
            op = x.u32()
            if op == 53:
                x.take(32)
            elif op == 22:
                handle = x.opaque()
            elif op == 25:
                x.take(16)
                self.reads[key] = 4, handle, x.u64()
                return
            elif op == 38:
                x.take(16)
                offset = x.u64()
                x.u32()
                self.put(self.write[handle], offset, x.opaque())
                return
            elif op == 73:
                x.u32()
                x.opaque()
                self.values.append(x.opaque())
                return
            else:
                return

    def reply(self, key, data):
        read = self.reads.pop(key, None)
        x = reply_body(data)
        if not read or not x:
            return
        version, handle, offset = read
        if version == 3:
            status = x.u32()
            if x.u32():
                x.take(84)
            if status:
                return
            x.u32()
            end = x.u32()
        else:
            x.u32()
            x.opaque()
            for _ in range(x.u32()):
                op, status = x.u32(), x.u32()
                if status:
                    return
                if op == 53:
                    x.take(36)
                elif op == 25:
                    end = x.u32()
                    break
        self.put(self.read[handle], offset, x.opaque(), end)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Folder:
    """-d: the index and the files it names."""

    def __init__(self, path):
        self.complaints = []
        self.index = []
        self.files = Files()
        with open(os.path.join(path, 'index.jsonl'), encoding='utf-8') as file:
            for line in file:
                one = json.loads(line)
                self.index.append(one)
                with open(os.path.join(path, one['file']), 'rb') as message:
                    self.message(one, message.read())
        if len(os.listdir(path)) != 1 + len(self.index) + sum(len(one.get('chunks', ())) for one in self.index):
            self.complaints.append('there are files that the index does not name, or the other way round')

    def message(self, one, data):
        if len(data) != one['length'] or ('sha256' in one) != one['whole']:
            self.complaints.append(f'{one}: the file has {len(data)} bytes')
        if not one['whole']:
            return
        if digest(data) != one['sha256']:
            self.complaints.append(f'{one["file"]}: another SHA-256')
        if data[:4].hex() != one['xid'][2:] or data[4:8] != (bytes(4), b'\0\0\0\1')[one['direction'] == 'reply']:
            self.complaints.append(f'{one["file"]}: does not begin with its XID and direction')
        if one.get('reverse'):
            return
        key = one['connection'], one['xid']
        try:
            (self.files.call if one['direction'] == 'call' else self.files.reply)(key, data)
        except ValueError as error:
            self.complaints.append(f'{one["file"]}: {error}')

    def compare(self, path):
        """Each file of files.tsv whose bytes travelled is there, byte for byte."""
        read, write = ({digest(bytes(data)) for data in files.values()}
                       | self.files.earlier for files in (self.files.read, self.files.write))
        values = {digest(data) for data in self.files.values}
        n = 0
        with open(path, encoding='utf-8') as file:
            for line in file:
                operation, name, size, sha256, note = line.rstrip('\n').split('\t')
                if operation not in NAMED or int(size) == 0:
                    continue
                n += 1
                have = {'read': read, 'write': write, 'setxattr': values}[operation]
                if sha256 not in have:
                    self.complaints.append(f'{operation} {name} ({size} bytes, {note}): not among the messages')
        return n


def messages(path):
    """(XID, call or reply, reverse) -> index entry and bytes, of each message of a folder."""
    out = collections.defaultdict(list)
    with open(os.path.join(path, 'index.jsonl'), encoding='utf-8') as file:
        for line in file:
            one = json.loads(line)
            with open(os.path.join(path, one['file']), 'rb') as message:
                out[one['xid'], one['direction'], one.get('reverse')].append((one, message.read()))
    return out


def compare_damaged(all_of_it, damaged):
    """What a damaged capture gives against what the complete one gave: whole messages are the same, and of
    the others every byte that is not said to be missing is. Returns complaints, and how many of each."""
    complaints, n = [], collections.Counter()
    alike = collections.defaultdict(list)
    for (*call, reverse), found in all_of_it.items():
        alike[tuple(call)] += [(reverse, data) for _, data in found]
    for key, found in damaged.items():
        # where it is not known who called, the direction of the RPC is not either
        known = [data for reverse, data in alike[key[:2]] if key[2] in (None, reverse)]
        if len(found) > len(known):
            complaints.append(f'{key}: {len(found)} messages, the complete capture has {len(known)}')
        for entry, data in found:
            n['whole' if entry['whole'] else 'partial'] += 1
            if entry['whole']:
                if data not in known:
                    complaints.append(f'{key} frame {entry["frame"]}: given as whole, with other bytes')
            elif 'chunks' not in entry and not any(same_but_missing(entry, data, one) for one in known):
                complaints.append(f'{key} frame {entry["frame"]}: wrong beside what is missing: '
                                  f'{len(data)} bytes, {entry.get("missing")}')
    return complaints, n


def same_but_missing(entry, data, want):
    """A message whose end was not captured may be shorter than it was."""
    have, should = bytearray(data), bytearray(want[:len(data)])
    for gap in entry.get('missing', ()):
        for one in (have, should):
            at = slice(gap['offset'], gap['offset'] + gap['length'])
            one[at] = bytes(len(one[at]))
    return have == should


FIELDS = ('frame.time_epoch', 'tcp.analysis.flags', '_ws.malformed', 'tcp.checksum.status', 'ip.checksum.status',
          'rpc.msgtyp', 'rpc.program', 'rpc.programversion', 'rpc.procedure', 'rpc.repframe',
          'nfs.opcode', 'rpc.xid', 'nfs.cb.operation', 'tcp.stream', 'rpc.time', 'nfs.slotid', 'nfs.target_high_slotid')


def frames(path):
    """Frame by frame: what tshark says of each RPC message and each segment."""
    command = ['-o', 'tcp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE',
               '-T', 'fields', '-E', 'separator=|', '-E', 'occurrence=a']
    for field in FIELDS:
        command += ['-e', field]
    for line in tshark.read(path, *command):
        yield dict(zip(FIELDS, line.split('|')))


def compare_slots(lines, slots, granted):
    """Of NFSv4.1: the slot of each Call, and that the server said of so many."""
    complaints = []
    told = collections.defaultdict(list)
    for line in lines:
        if 'slot' in line:
            told[int(line['xid'], 16)].append(line['slot'])
            if not 0 <= line['slot'] < line.get('slots', 1024) or not 1 <= line['slots_in_use'] <= line.get('slots', 1024):
                complaints.append(f'{line["xid"]}: slot {line["slot"]}, {line["slots_in_use"]} in use of {line.get("slots")}')
    for (_, xid), slot in slots.items():
        if slot not in told[xid]:
            complaints.append(f'0x{xid:08x}: tshark reads slot {slot}, rpcs {told[xid]}')
    said = {line['slots'] for line in lines if 'slots' in line}
    if not said <= granted or (slots and not said):
        complaints.append(f'tshark reads that {granted} slots are granted, rpcs {said}')
    return complaints


def compare_tshark(path, lines, partial=False):
    """No fault, no unmatched Reply, and as many operations of each kind as rpcs tells."""
    complaints = []
    got, want = collections.Counter(), collections.Counter()
    replies = lonely = 0
    before = 0.0
    times, operations = {}, {}
    slots, granted = {}, set()
    for number, frame in enumerate(frames(path), 1):
        faults = frame['tcp.analysis.flags'] + frame['_ws.malformed']
        if faults or '0' in frame['tcp.checksum.status'] + frame['ip.checksum.status']:
            complaints.append(f'frame {number}: {frame}')
        if float(frame['frame.time_epoch']) < before:
            complaints.append(f'frame {number}: earlier than the one before it')
        before = float(frame['frame.time_epoch'])
        if frame['rpc.msgtyp'].split(',')[0] == '0':
            key = tuple(int(frame[field].split(',')[0]) for field in ('rpc.program', 'rpc.programversion', 'rpc.procedure'))
            got[key] += 1
            operations[frame['tcp.stream'], int(frame['rpc.xid'].split(',')[0], 16)] = frame['nfs.opcode']
            if frame['nfs.slotid'] and not frame['nfs.cb.operation']:
                slots[frame['tcp.stream'], int(frame['rpc.xid'].split(',')[0], 16)] = int(frame['nfs.slotid'])
        elif frame['rpc.msgtyp'].split(',')[0] == '1':
            replies += 1
            granted.update(int(one) + 1 for one in frame['nfs.target_high_slotid'].split(',') if one)
            lonely += not frame['rpc.repframe']
            times[frame['tcp.stream'], int(frame['rpc.xid'].split(',')[0], 16)] = float(frame['rpc.time'].split(',')[0] or -1)
    told, named = collections.defaultdict(list), collections.defaultdict(list)
    for line in lines:
        if 'call_frame' not in line or 'program' not in line:
            continue
        if any(finding['text'].startswith('Call: bytes') for finding in line.get('findings', ())):
            continue  # not whole: not written
        key = tuple(line[field] for field in ('program', 'version', 'procedure'))
        want[key] += 1
        if 'operations' in line and line['direction'] == 'forward':
            named[int(line['xid'], 16)].append(','.join(str(NUMBERS[one]) for one in line['operations']))
        if 'response_ns' in line:
            told[int(line['xid'], 16)].append(line['response_ns'] / 1e9)
    complaints += compare_slots(lines, slots, granted) if not partial else []
    if got != want and not (partial and got <= want):
        complaints.append(f'tshark counts otherwise: {dict(got - want)} more, {dict(want - got)} fewer')
    if lonely:
        complaints.append(f'{lonely} of {replies} Replies are unmatched')
    for (_, xid), seconds in times.items():
        if not any(abs(seconds - one) < 2e-6 for one in told[xid]):
            complaints.append(f'0x{xid:08x}: tshark measures {seconds} s, rpcs {told[xid]}')
    for (_, xid), numbers in operations.items():
        # tshark 4.0 does not step over OPEN's CLAIM_DELEG_CUR_FH, and then reads operations 0 to 2
        known = ','.join(one for one in numbers.split(',') if not one.isdigit() or int(one) > 2)
        if numbers and not any(one == numbers or (known != numbers and one.startswith(known)) for one in named[xid]):
            complaints.append(f'0x{xid:08x}: tshark reads operations {numbers}, rpcs {named[xid]}')
    return complaints


NUMBERS = dict(zip(('ACCESS CLOSE COMMIT CREATE DELEGPURGE DELEGRETURN GETATTR GETFH LINK LOCK LOCKT LOCKU LOOKUP '
                    'LOOKUPP NVERIFY OPEN OPENATTR OPEN_CONFIRM OPEN_DOWNGRADE PUTFH PUTPUBFH PUTROOTFH READ READDIR '
                    'READLINK REMOVE RENAME RENEW RESTOREFH SAVEFH SECINFO SETATTR SETCLIENTID SETCLIENTID_CONFIRM '
                    'VERIFY WRITE RELEASE_LOCKOWNER BACKCHANNEL_CTL BIND_CONN_TO_SESSION EXCHANGE_ID CREATE_SESSION '
                    'DESTROY_SESSION FREE_STATEID GET_DIR_DELEGATION GETDEVICEINFO GETDEVICELIST LAYOUTCOMMIT '
                    'LAYOUTGET LAYOUTRETURN SECINFO_NO_NAME SEQUENCE SET_SSV TEST_STATEID WANT_DELEGATION '
                    'DESTROY_CLIENTID RECLAIM_COMPLETE ALLOCATE COPY COPY_NOTIFY DEALLOCATE IO_ADVISE LAYOUTERROR '
                    'LAYOUTSTATS OFFLOAD_CANCEL OFFLOAD_STATUS READ_PLUS SEEK WRITE_SAME CLONE GETXATTR SETXATTR '
                    'LISTXATTRS REMOVEXATTR').split(), range(3, 76)))
