/* SPDX-License-Identifier: BSD-2-Clause */

/* generate KIND SIZE FILE: a capture of about SIZE bytes (100M, 2G) of NFS version 3 on
 * RPC-over-RDMA, for measurements. The same arguments give the same file. Prints how many packets
 * and bytes. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "talk.h"

enum {
    RPC_MAX = 512,
    BULK = 32 << 10, /* of a READ or WRITE */
    CREDITS = 64,
    FILE_HANDLE = 28,
    GETATTR = 1,
    READ = 6,
    WRITE = 7,
    FATTR3 = 84,
    MANY = 10000, /* connections */
};

static uint8_t *zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

/* RFC 5531 section 9, RFC 1813: up to the file handle, which every procedure here begins with. */
static uint8_t *call(uint8_t *p, uint32_t xid, uint32_t procedure)
{
    p = put32(put32(put32(p, xid), 0), 2);
    p = put32(put32(put32(p, 100003), 3), procedure);
    p = put32(put32(p, 1), 24); /* AUTH_SYS: stamp, "host", uid, gid, no more groups */
    p = put32(put32(put32(p, 0), 4), 0x686f7374);
    p = zeros(p, 12);
    p = zeros(p, 8); /* verifier */
    p = put32(p, FILE_HANDLE);
    memset(p, 0xfe, FILE_HANDLE);
    return p + FILE_HANDLE;
}

static uint8_t *reply(uint8_t *p, uint32_t xid)
{
    p = put32(put32(p, xid), 1);
    return zeros(p, 16 + 4); /* accepted, verifier, success; NFS3_OK */
}

static uint8_t *prefix(uint8_t *p, uint32_t xid, uint32_t version, uint32_t credits, uint32_t type)
{
    return put32(put32(put32(put32(p, xid), version), credits), type);
}

static uint8_t *segment(uint8_t *p, uint32_t handle, uint32_t length, uint64_t offset)
{
    return put64(put32(put32(p, handle), length), offset);
}

static void getattr(struct talk *talk, uint32_t xid)
{
    uint8_t buf[RPC_MAX], *p;

    p = zeros(prefix(buf, xid, 1, CREDITS, 0), 12);
    p = call(p, xid, GETATTR);
    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
    p = zeros(prefix(buf, xid, 1, CREDITS, 0), 12);
    p = zeros(reply(p, xid), FATTR3);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

/* draft-ietf-nfsv4-rpcrdma-version-two-07: CALL_INLINE 10 and REPLY_INLINE 13. Credits count up. */
static void getattr2(struct talk *talk, uint32_t xid, uint32_t sent)
{
    uint8_t buf[RPC_MAX], *p;

    p = zeros(prefix(buf, xid, 2, CREDITS + sent, 10), 16);
    p = call(p, xid, GETATTR);
    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
    p = zeros(prefix(buf, xid, 2, CREDITS + sent + 1, 13), 4);
    p = zeros(reply(p, xid), FATTR3);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

static void bulk_read(struct talk *talk, uint32_t xid, uint64_t offset)
{
    uint8_t buf[RPC_MAX], *p;
    uint32_t handle = 0x40000000 | xid;

    p = put32(prefix(buf, xid, 1, CREDITS, 0), 0); /* no read list */
    p = segment(put32(put32(p, 1), 1), handle, BULK, offset);
    p = zeros(p, 8); /* end of the write list, no reply chunk */
    p = put32(put64(call(p, xid, READ), offset), BULK);
    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
    talk_write(talk, &talk->server, handle, offset, BULK);
    p = put32(prefix(buf, xid, 1, CREDITS, 0), 0);
    p = segment(put32(put32(p, 1), 1), handle, BULK, offset);
    p = zeros(p, 8);
    p = zeros(put32(reply(p, xid), 1), FATTR3);
    p = put32(put32(put32(p, BULK), 0), BULK);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

static void bulk_write(struct talk *talk, uint32_t xid, uint64_t offset)
{
    uint8_t buf[RPC_MAX], rpc[RPC_MAX], *p = rpc;
    uint32_t handle = 0x40000000 | xid;
    size_t n;

    p = put32(put64(call(p, xid, WRITE), offset), BULK);
    p = put32(put32(p, 2 /* FILE_SYNC */), BULK);
    n = (size_t)(p - rpc);
    p = put32(put32(prefix(buf, xid, 1, CREDITS, 0), 1), (uint32_t)n);
    p = zeros(segment(p, handle, BULK, offset), 12);
    memcpy(p, rpc, n);
    p += n;
    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
    talk_read(talk, &talk->server, handle, offset, BULK);
    p = zeros(prefix(buf, xid, 1, CREDITS, 0), 12);
    p = zeros(put32(put32(reply(p, xid), 0), 1), FATTR3);
    p = zeros(put32(put32(p, BULK), 2), 8);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

static void begin(struct talk *talk, struct talk_file *file, uint32_t number, uint32_t mtu)
{
    *talk = (struct talk){
        .file = file,
        .mtu = mtu,
        .client = {.address = 0x0a000001 + number % 250, .qpn = 0x100 + number, .psn = 1000},
        .server = {.address = 0x0a010001 + number % 3, .qpn = 0x10000 + number, .psn = 0xfff000},
    };
}

static void bulk(struct talk_file *file, uint64_t size, uint32_t mtu)
{
    static const uint8_t private[8] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
    struct talk talk;

    begin(&talk, file, 0, mtu);
    talk_connect(&talk, private);
    for (uint32_t i = 0; file->bytes < size; i += 2) {
        bulk_read(&talk, 0x10000 + i, (uint64_t)i * BULK);
        bulk_write(&talk, 0x10001 + i, (uint64_t)(i + 1) * BULK);
    }
}

static void make_many(struct talk_file *file, uint64_t size, uint32_t connections)
{
    struct talk *talks = calloc(connections, sizeof(*talks));

    if (!talks)
        abort();
    for (uint32_t i = 0; i < connections; i++) {
        begin(&talks[i], file, i, 1024);
        talk_connect(&talks[i], NULL);
    }
    for (uint32_t i = 0; file->bytes < size; i++)
        getattr(&talks[i % connections], 0x10000 + i);
    free(talks);
}

static void version2(struct talk_file *file, uint64_t size)
{
    struct talk talk;

    begin(&talk, file, 0, 1024);
    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++)
        getattr2(&talk, 0x10000 + i, i);
}

static void bulk4096(struct talk_file *file, uint64_t size)
{
    bulk(file, size, 4096);
}

static void bulk1024(struct talk_file *file, uint64_t size)
{
    bulk(file, size, 1024);
}

static void small(struct talk_file *file, uint64_t size)
{
    make_many(file, size, 1);
}

static void many(struct talk_file *file, uint64_t size)
{
    make_many(file, size, MANY);
}

static const struct bench_kind usual_kinds[] = {
    {"bulk4096", bulk4096}, {"bulk1024", bulk1024}, {"small", small},
    {"many", many},         {"v2", version2},       {NULL, NULL},
};

static const struct bench_kind *const all_kinds[] = {
    usual_kinds,          hostile_kinds,      hostile_names_kinds, hostile_work_kinds,
    hostile_tables_kinds, hostile_ends_kinds, hostile_paths_kinds, hostile_causes_kinds,
};
enum { TABLES = sizeof(all_kinds) / sizeof(all_kinds[0]) };

static const struct bench_kind *kind_of(const char *name)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct bench_kind *kind = all_kinds[i]; kind->name; kind++)
            if (strcmp(name, kind->name) == 0)
                return kind;
    return NULL;
}

static void usage(void)
{
    for (size_t i = 0; i < TABLES; i++) {
        fputs(i == 0 ? "usage: generate " : "       generate ", stderr);
        for (const struct bench_kind *kind = all_kinds[i]; kind->name; kind++)
            fprintf(stderr, "%s%s", kind == all_kinds[i] ? "" : "|", kind->name);
        fputs(" SIZE[k|M|G] FILE\n", stderr);
    }
}

int main(int argc, char **argv)
{
    struct talk_file file;
    uint64_t size;
    char *unit;
    const struct bench_kind *kind;

    if (argc != 4) {
        usage();
        return 2;
    }
    size = strtoull(argv[2], &unit, 10);
    size *= *unit == 'G' ? 1000000000 : *unit == 'M' ? 1000000 : *unit == 'k' ? 1000 : 1;
    kind = kind_of(argv[1]);
    if (!kind) {
        fprintf(stderr, "generate: no kind %s\n", argv[1]);
        return 2;
    }
    if (!talk_open(&file, argv[3]))
        return 1;
    kind->make(&file, size);
    if (!talk_close(&file))
        return 1;
    printf("%" PRIu64 " %" PRIu64 "\n", file.packets, file.bytes);
    return 0;
}
