/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_JSON_WRITER_H
#define RPCRDMA_CLI_OUT_JSON_WRITER_H

/*
 * JSON, one object per line. The writer puts the commas:
 *
 *     json_open(json, '{');
 *     json_key(json, KEY(frame)), json_u64(json, 7);
 *     json_key(json, KEY(read)), json_open(json, '['), json_close(json, ']');
 *     json_close(json, '}');
 *     json_end(json);
 */

#include <assert.h>

#include "out/key.h"
#include "out/out.h"

struct json {
    struct out *out;
    bool comma; /* something stands before what comes next */
};

static inline void json_before(struct json *json)
{
    if (json->comma)
        out_char(json->out, ',');
    json->comma = true;
}

static inline void json_open(struct json *json, char bracket)
{
    json_before(json);
    out_char(json->out, bracket);
    json->comma = false;
}

static inline void json_close(struct json *json, char bracket)
{
    out_char(json->out, bracket);
    json->comma = true;
}

/* In line: of a literal the length is known then, and keys are most of what is written. */
static RPCRDMA_INLINE void json_key(struct json *json, struct json_key key)
{
    struct out *out = json->out;
    size_t n = strlen(key.name);
    char *p;

    assert(n <= OUT_SLACK - 4);
    out_room(out);
    p = out->buf + out->n;
    *p = ',';
    p += json->comma;
    *p++ = '"';
    memcpy(p, key.name, n);
    p += n;
    *p++ = '"';
    *p++ = ':';
    out->n = (size_t)(p - out->buf);
    json->comma = false;
}

/* A key as it is written, with its quotes and colon. */
struct json_ready_key {
    char text[31];
    uint8_t n;
};

/* Copies more than there is of it: that is a few instructions where the length is not known. */
static inline void json_put_ready_key(struct json *json, const struct json_ready_key *key)
{
    struct out *out = json->out;
    char *p;

    out_room(out);
    p = out->buf + out->n;
    *p = ',';
    p += json->comma;
    memcpy(p, key->text, sizeof(key->text));
    out->n = (size_t)(p - out->buf) + key->n;
    json->comma = false;
}

static inline void json_u64(struct json *json, uint64_t v)
{
    json_before(json);
    out_u64(json->out, v);
}

static inline void json_i64(struct json *json, int64_t v)
{
    json_before(json);
    out_i64(json->out, v);
}

static inline void json_bool(struct json *json, bool v)
{
    json_before(json);
    out_text(json->out, v ? "true" : "false");
}

/* The shortest number that reads back the same; JSON has none for what is not finite: null. */
void json_real(struct json *json, double v);

/* "0x%0<digits>x" */
static inline void json_hex(struct json *json, uint64_t v, unsigned digits)
{
    json_before(json);
    out_char(json->out, '"');
    out_hex(json->out, v, digits);
    out_char(json->out, '"');
}

static inline void json_hex_bytes(struct json *json, const uint8_t *p, size_t n)
{
    json_before(json);
    out_char(json->out, '"');
    out_hex_bytes(json->out, p, n);
    out_char(json->out, '"');
}

/* A string that is known to need no escaping: a name of ours. */
void json_plain(struct json *json, const char *text);

/* Any bytes: escaped where JSON asks for it; what is not UTF-8 becomes \xNN, as escape.h has it. */
void json_string(struct json *json, const char *text, size_t n);

/* Key and value. */
static inline void json_text(struct json *json, struct json_key key, const char *text)
{
    json_key(json, key);
    json_string(json, text, strlen(text));
}

static inline void json_number(struct json *json, struct json_key key, uint64_t v)
{
    json_key(json, key);
    json_u64(json, v);
}

/* The end of a line's object. */
static inline void json_end(struct json *json)
{
    json->comma = false;
    out_line(json->out);
}

#endif
