/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole RPC messages as files, with an index in JSON lines. What is missing of a message is a hole
 * in its file, and the index says where. */
#include "extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "out/json_writer.h"

struct extract_dir {
    char *path;
    int fd;
    struct out index;
    struct json json;
    uint64_t n;
    bool failed;
};

static void fail(struct extract_dir *dir, const char *name)
{
    if (!dir->failed)
        complain("%s/%s: %s", dir->path, name, strerror(errno));
    dir->failed = true;
}

struct extract_dir *extract_dir_open(const char *path)
{
    struct extract_dir *dir;
    int fd, index = -1;

    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        complain("%s: %s", path, strerror(errno));
        return NULL;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        index = openat(fd, "index.jsonl", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (index < 0) {
        complain("%s%s: %s", path, fd < 0 ? "" : "/index.jsonl", strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    dir = g_new0(struct extract_dir, 1);
    dir->path = g_strdup(path);
    dir->fd = fd;
    if (!out_open(&dir->index, index)) {
        errno = ENOMEM;
        fail(dir, "index.jsonl");
    }
    dir->json.out = &dir->index;
    return dir;
}

static bool write_all(int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

struct written {
    uint64_t length;
    bool whole;
    char sha256[65]; /* of whole ones; else empty */
};

static struct written write_pieces(struct extract_dir *dir, const char *name,
                                   const struct rpcrdma_iovec *pieces, size_t n)
{
    static const uint8_t zeros[4];
    struct written w = {.whole = true};
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    int fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool fine = fd >= 0;

    for (size_t i = 0; fine && i < n; i++) {
        const struct rpcrdma_iovec *p = &pieces[i];
        const uint8_t *data = p->kind == RPCRDMA_IOVEC_PAD ? zeros : p->data;

        w.length += p->length;
        if (data) {
            fine = write_all(fd, data, p->length);
            g_checksum_update(sum, data, (gssize)p->length);
        } else { /* a hole costs no space */
            fine = lseek(fd, p->length, SEEK_CUR) >= 0;
            w.whole = false;
        }
    }
    if (fine && !w.whole)
        fine = ftruncate(fd, (off_t)w.length) == 0;
    if (fd >= 0 && close(fd) != 0)
        fine = false;
    if (!fine)
        fail(dir, name);
    if (w.whole)
        g_strlcpy(w.sha256, g_checksum_get_string(sum), sizeof(w.sha256));
    g_checksum_free(sum);
    return w;
}

static const char *why(enum rpcrdma_iovec_kind kind)
{
    switch (kind) {
    case RPCRDMA_IOVEC_CUT:
        return "not captured";
    case RPCRDMA_IOVEC_DROPPED:
        return "memory limit";
    default:
        return "not seen";
    }
}

static void put_missing(struct json *json, const struct rpcrdma_iovec *pieces, size_t n)
{
    uint64_t at = 0;

    json_key(json, "missing");
    json_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].kind >= RPCRDMA_IOVEC_CUT) {
            json_open(json, '{');
            json_key(json, "offset"), json_u64(json, at);
            json_key(json, "length"), json_u64(json, pieces[i].length);
            json_key(json, "why"), json_plain(json, why(pieces[i].kind));
            json_close(json, '}');
        }
        at += pieces[i].length;
    }
    json_close(json, ']');
}

static void put_file(struct json *json, const char *name, const struct written *w, bool whole,
                     const struct rpcrdma_iovec *pieces, size_t n)
{
    json_key(json, "length"), json_u64(json, w->length);
    if (w->sha256[0] && whole)
        json_key(json, "sha256"), json_plain(json, w->sha256);
    json_key(json, "whole"), json_bool(json, whole);
    json_key(json, "file"), json_plain(json, name);
    if (!w->whole)
        put_missing(json, pieces, n);
}

static void put_chunks(struct extract_dir *dir, const struct rpcrdma_rpc_message *m,
                       const char *message_name)
{
    struct json *json = &dir->json;

    if (m->n_unplaced_chunks == 0)
        return;
    json_key(json, "chunks");
    json_open(json, '[');
    for (size_t i = 0; i < m->n_unplaced_chunks; i++) {
        const struct rpcrdma_unplaced_chunk *c = &m->unplaced_chunks[i];
        char name[96];
        struct written w;

        g_snprintf(name, sizeof(name), "%s.chunk%u", message_name, c->index);
        w = write_pieces(dir, name, m->iovec + c->first_piece, c->n_iovec);
        json_open(json, '{');
        json_key(json, "index"), json_u64(json, c->index);
        put_file(json, name, &w, w.whole, m->iovec + c->first_piece, c->n_iovec);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void extract_dir_message(struct extract_dir *dir, const struct rpcrdma_rpc_message *m)
{
    const char *direction = m->direction == RPCRDMA_DIRECTION_CALL ? "call" : "reply";
    struct json *json = &dir->json;
    struct written w;
    char name[64];

    if (dir->failed)
        return;
    g_snprintf(name, sizeof(name), "%08" G_GUINT64_FORMAT "-%u-%08x-%s", ++dir->n,
               m->connection->number, m->xid, direction);
    w = write_pieces(dir, name, m->iovec, m->n_iovec);
    json_open(json, '{');
    json_key(json, "frame"), json_u64(json, m->frame);
    json_key(json, "connection"), json_u64(json, m->connection->number);
    json_key(json, "xid"), json_hex(json, m->xid, 8);
    json_key(json, "direction"), json_plain(json, direction);
    if (m->direction_known)
        json_key(json, "reverse"), json_bool(json, m->reverse);
    put_file(json, name, &w, m->whole, m->iovec, m->n_iovec);
    put_chunks(dir, m, name);
    json_close(json, '}');
    json_end(json);
    if (dir->index.error) {
        errno = dir->index.error;
        fail(dir, "index.jsonl");
    }
}

bool extract_dir_close(struct extract_dir *dir)
{
    bool fine;
    int fd;

    if (!dir)
        return true;
    fd = dir->index.fd;
    errno = out_close(&dir->index);
    if (errno != 0)
        fail(dir, "index.jsonl");
    close(fd);
    close(dir->fd);
    fine = !dir->failed;
    g_free(dir->path);
    g_free(dir);
    return fine;
}
