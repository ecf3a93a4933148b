/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole RPC messages as files, with an index in JSON lines. What is missing of a message is a hole
 * in its file, and the index says where. */
#include "common/complain.h"
#include "extract/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out/json_writer.h"
#include "out/view.h"
#include "source/rights/creator.h"
#include "source/rights/privilege.h"

struct extract_dir {
    char *path;
    struct creator creator;
    struct out index;
    struct json json;
    uint64_t n;
    bool failed;
};

static void fail(struct extract_dir *dir, const char *name)
{
    if (!dir->failed)
        complain("%s/%s: %s", dir->path, name, create_error(errno));
    dir->failed = true;
}

/* The folder, made where there is none; one that somebody else may have meant for another place is
 * not followed there. -1 with errno. */
static int open_folder(const char *path)
{
    size_t n = strlen(path);
    bool slash = n > 0 && path[n - 1] == '/';

    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (slash ? 0 : O_NOFOLLOW));
}

/* Number, connection, XID; data that has no place in its message is beside it. */
static const char *const forms[] = {"#-#-$-call", "#-#-$-reply", "#-#-$-call.chunk#",
                                    "#-#-$-reply.chunk#", NULL};

struct extract_dir *extract_dir_open(const char *path, bool no_sandbox)
{
    struct creator_task task = {
        .how = CREATE_NEW, .mode = 0666, .names = {.stem = "", .forms = forms, .suffix = ""}};
    struct extract_dir *dir = g_new0(struct extract_dir, 1);
    struct privilege_lent lent;
    char error[200] = "";
    int folder, index = -1, number;

    dir->path = g_strdup(path);
    dir->creator.socket = -1;
    privilege_lend(&lent);
    folder = open_folder(path);
    if (folder >= 0)
        index = create_at(folder, "index.jsonl", CREATE_NEW, 0666);
    number = errno;
    privilege_return(&lent);
    task.folder = folder;
    if (index < 0)
        complain("%s%s: %s", path, folder < 0 ? "" : "/index.jsonl",
                 folder < 0 && number == ENOTDIR ? "it is no folder, or a symbolic link to one"
                                                 : strerror(number));
    else if (!creator_begin(&dir->creator, &task, no_sandbox, error, sizeof(error)))
        complain("%s: %s", path, error);
    if (folder >= 0)
        close(folder);
    if (index < 0 || *error) {
        if (index >= 0)
            close(index);
        g_free(dir->path);
        g_free(dir);
        return NULL;
    }
    if (!out_open(&dir->index, index)) {
        errno = ENOMEM;
        fail(dir, "index.jsonl");
    }
    dir->json.out = &dir->index;
    return dir;
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
    int fd = creator_create(&dir->creator, name);
    bool fine = fd >= 0;

    for (size_t i = 0; fine && i < n; i++) {
        const struct rpcrdma_iovec *p = &pieces[i];
        const uint8_t *data = p->kind == RPCRDMA_IOVEC_PAD ? zeros : p->data;

        w.length += p->length;
        if (data) {
            errno = out_write_all(fd, data, p->length);
            fine = errno == 0;
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

    json_key(json, KEY(missing));
    json_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].kind >= RPCRDMA_IOVEC_CUT) {
            json_open(json, '{');
            json_key(json, KEY(offset)), json_u64(json, at);
            json_key(json, KEY(length)), json_u64(json, pieces[i].length);
            json_key(json, KEY(why)), json_plain(json, why(pieces[i].kind));
            json_close(json, '}');
        }
        at += pieces[i].length;
    }
    json_close(json, ']');
}

static void put_file(struct json *json, const char *name, const struct written *w, bool whole,
                     const struct rpcrdma_iovec *pieces, size_t n)
{
    json_key(json, KEY(length)), json_u64(json, w->length);
    if (w->sha256[0] && whole)
        json_key(json, KEY(sha256)), json_plain(json, w->sha256);
    json_key(json, KEY(whole)), json_bool(json, whole);
    json_key(json, KEY(file)), json_plain(json, name);
    if (!w->whole)
        put_missing(json, pieces, n);
}

static void put_chunks(struct extract_dir *dir, const struct rpcrdma_rpc_message *m,
                       const char *message_name)
{
    struct json *json = &dir->json;

    if (m->n_unplaced_chunks == 0)
        return;
    json_key(json, KEY(chunks));
    json_open(json, '[');
    for (size_t i = 0; i < m->n_unplaced_chunks; i++) {
        const struct rpcrdma_unplaced_chunk *c = &m->unplaced_chunks[i];
        char name[96];
        struct written w;

        g_snprintf(name, sizeof(name), "%s.chunk%u", message_name, c->index);
        w = write_pieces(dir, name, m->iovec + c->first_iovec, c->n_iovec);
        json_open(json, '{');
        json_key(json, KEY(index)), json_u64(json, c->index);
        put_file(json, name, &w, w.whole, m->iovec + c->first_iovec, c->n_iovec);
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
    json_key(json, KEY(frame)), json_u64(json, m->frame);
    json_key(json, KEY(time_ns)), json_i64(json, m->time_ns);
    view_json_address(json, KEY(src), &m->src.address);
    view_json_address(json, KEY(dst), &m->dst.address);
    json_key(json, KEY(connection)), json_u64(json, m->connection->number);
    json_key(json, KEY(xid)), json_hex(json, m->xid, 8);
    json_key(json, KEY(direction)), json_plain(json, direction);
    if (m->direction_known)
        json_key(json, KEY(reverse)), json_bool(json, m->reverse);
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
    if (!dir->failed && create_is_gone(fd)) {
        complain("%s/index.jsonl: it was removed while it was written to", dir->path);
        dir->failed = true;
    }
    if (close(fd) != 0)
        fail(dir, "index.jsonl");
    creator_end(&dir->creator);
    fine = !dir->failed;
    g_free(dir->path);
    g_free(dir);
    return fine;
}
