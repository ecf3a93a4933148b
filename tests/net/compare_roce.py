#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare_roce.py OP_LIST FOLDER...

Compares, packet by packet, the RoCE operations that net/ finds in every FOLDER/*/capture.pcap with
what tshark says of the same packets: opcode, QP number, PSN, RETH, AETH, ImmDt, IETH, payload, and
the fields of the CM exchange. Exit status 77, "skipped", where there is no tshark.
"""
import glob
import os
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import tshark

# opcode: kind, first, last, bytes of extension headers. Written down apart from opcode.def.
RC = {
    0: ("send", 1, 0, 0), 1: ("send", 0, 0, 0), 2: ("send", 0, 1, 0), 3: ("send", 0, 1, 4),
    4: ("send", 1, 1, 0), 5: ("send", 1, 1, 4), 6: ("write", 1, 0, 16), 7: ("write", 0, 0, 0),
    8: ("write", 0, 1, 0), 9: ("write", 0, 1, 4), 10: ("write", 1, 1, 16),
    11: ("write", 1, 1, 20), 12: ("read_request", 1, 1, 16), 13: ("read_response", 1, 0, 4),
    14: ("read_response", 0, 0, 0), 15: ("read_response", 0, 1, 4),
    16: ("read_response", 1, 1, 4), 17: ("ack", 1, 1, 4), 18: ("atomic_response", 1, 1, 12),
    19: ("atomic", 1, 1, 28), 20: ("atomic", 1, 1, 28), 22: ("send", 0, 1, 4),
    23: ("send", 1, 1, 4),
}
CM = {0x10: "connect", 0x12: "reject", 0x13: "accept", 0x14: "established", 0x15: "disconnect",
      0x16: "disconnect"}
FIELDS = """frame.number ip.src ip.dst udp.payload infiniband.bth.opcode infiniband.bth.padcnt
infiniband.bth.destqp infiniband.bth.psn infiniband.bth.a infiniband.bth.se infiniband.reth.va
infiniband.reth.r_key infiniband.reth.dmalen infiniband.aeth.syndrome.opcode
infiniband.aeth.syndrome.error_code infiniband.aeth.syndrome.timer infiniband.aeth.msn
infiniband.immdt infiniband.ieth infiniband.mad.attributeid infiniband.cm.req
infiniband.cm.req.serviceid.dport infiniband.cm.req.localqpn infiniband.cm.req.startpsn
infiniband.cm.req.pppmtu infiniband.cm.rep infiniband.cm.rep.remotecommid
infiniband.cm.rep.localqpn infiniband.cm.rep.startpsn infiniband.cm.rtu.localcommid
infiniband.cm.rtu.remotecommid infiniband.cm.rej.localcommid infiniband.cm.rej.remotecommid
infiniband.cm.rej.reason infiniband.cm.dreq.localcommid infiniband.cm.dreq.remotecommid
infiniband.cm.req.remoteqpneecn infiniband.cm.drsp.localcommid
infiniband.cm.drsp.remotecommid""".split()


def address(text):
    return "".join("%02x" % int(b) for b in text.split("."))


def expected(path):
    """What tshark says, as the words of op_list that are compared: {frame: {key: value}}."""
    command = ["-Y", "infiniband", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    result = {}
    for line in tshark.read(path, *command):
        f = dict(zip(FIELDS, line.split("|")))

        def ib(name):
            return tshark.number(f["infiniband." + name])

        opcode = ib("bth.opcode")
        packet = bytes.fromhex(f["udp.payload"].replace(":", ""))
        op = {"src": address(f["ip.src"]), "dst": address(f["ip.dst"]),
              "dst_qpn": ib("bth.destqp"), "seq": ib("bth.psn")}
        if opcode in RC:
            kind, first, last, header = RC[opcode]
            data = packet[12 + header:len(packet) - 4 - ib("bth.padcnt")]
            nak = rnr = 0
            if kind == "ack" and ib("aeth.syndrome.opcode") != 0:
                kind = "nak"
                rnr = ib("aeth.syndrome.timer")
                nak = 0 if ib("aeth.syndrome.opcode") == 1 else 1 + ib("aeth.syndrome.error_code")
            flags = first | last << 1 | ib("bth.se") << 2 | ib("bth.a") << 3
            flags |= (opcode in (22, 23)) << 4 | (opcode in (3, 5, 9, 11)) << 5
            flags |= (opcode in (6, 10, 11, 12, 19, 20)) << 6
            op.update(kind=kind, flags="%x" % flags, rkey=ib("reth.r_key"), va=ib("reth.va"),
                      dmalen=ib("reth.dmalen"), msn=ib("aeth.msn"), nak=nak, rnr=rnr,
                      imm=int(f["infiniband.immdt"].replace(":", "") or "0", 16),
                      inv=int(f["infiniband.ieth"].replace(":", "") or "0", 16),
                      len=len(data), caplen=len(data), data="%08x" % zlib.crc32(data))
        elif opcode == 100 and ib("mad.attributeid") in CM:
            attribute = ib("mad.attributeid")
            op["kind"] = CM[attribute]
            if attribute == 0x10:
                op.update(local=ib("cm.req"), qpn=ib("cm.req.localqpn"),
                          psn=ib("cm.req.startpsn"), port=ib("cm.req.serviceid.dport"),
                          service=0x1060000 + ib("cm.req.serviceid.dport"),
                          mtu=128 << ib("cm.req.pppmtu"), private_len=92,
                          private="%08x" % zlib.crc32(packet[44 + 140:44 + 232]))
            elif attribute == 0x13:
                op.update(local=ib("cm.rep"), remote=ib("cm.rep.remotecommid"),
                          qpn=ib("cm.rep.localqpn"), psn=ib("cm.rep.startpsn"), private_len=196,
                          private="%08x" % zlib.crc32(packet[44 + 36:44 + 232]))
            elif attribute == 0x14:
                op.update(local=ib("cm.rtu.localcommid"), remote=ib("cm.rtu.remotecommid"))
            elif attribute == 0x12:
                op.update(local=ib("cm.rej.localcommid"), remote=ib("cm.rej.remotecommid"),
                          reason=ib("cm.rej.reason"))
            elif attribute == 0x15:
                op.update(local=ib("cm.dreq.localcommid"), remote=ib("cm.dreq.remotecommid"),
                          remote_qpn=ib("cm.req.remoteqpneecn"))
            else:
                op.update(local=ib("cm.drsp.localcommid"), remote=ib("cm.drsp.remotecommid"))
        else:
            continue
        result[int(f["frame.number"])] = {key: str(value) for key, value in op.items()}
    return result


def listed(op_list, path):
    result = {}
    for line in subprocess.run([op_list, "-c", path], stdout=subprocess.PIPE, check=True,
                               text=True).stdout.splitlines():
        words = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        if "finding" in words:
            raise SystemExit("%s: a finding in a good recording: %s" % (path, line))
        if "kind" in words and "src_port" not in words:
            result[int(words["frame"])] = words
    return result


def main():
    if tshark.missing():
        print("SKIPPED: no tshark to compare with")
        return 77
    op_list, folders = sys.argv[1], sys.argv[2:]
    paths = sorted(p for d in folders for p in glob.glob(os.path.join(d, "*", "capture.pcap")))
    wrong = total = 0
    for path in paths:
        theirs, ours = expected(path), listed(op_list, path)
        differences = []
        for frame in sorted(theirs.keys() | ours.keys()):
            a, b = theirs.get(frame), ours.get(frame)
            if a is None or b is None:
                differences.append("frame %d: tshark %s, we %s" % (frame, a, b))
                continue
            for key in a:
                if a[key] != b.get(key):
                    differences.append("frame %d: %s: tshark %s, we %s" %
                                       (frame, key, a[key], b.get(key)))
        print("%s: %d operations, %d differences" % (path, len(theirs), len(differences)))
        for line in differences[:20]:
            print("    " + line)
        wrong += len(differences)
        total += len(theirs)
    if total == 0:
        print("no RoCE operation in %s: nothing was compared" % folders)
        return 1
    return 1 if wrong else 0


sys.exit(main())
