/* SPDX-License-Identifier: BSD-2-Clause */
/* NFSv4's attributes: RFC 7531, RFC 5662, RFC 7863 section 12, RFC 8275, RFC 8276, RFC 9754. */
#include "sanitize/grammar.h"

#include "wire/cursor.h"

#define PATHNAME "[s]"
#define ACL "[uuus]"
#define SET_TIME "<1:t;0:>"
#define RETENTION_SET "u[h]"

/* By number; NULL: none. */
static const char *const attributes[] = {
    [0] = "[u]", /* supported_attrs */
    [1] = "u",   /* type */
    [2] = "u",   /* fh_expire_type */
    [3] = "k",   /* change: with Linux a time */
    [4] = "h",   /* size */
    [5] = "u",
    [6] = "u",
    [7] = "u",  /* link_support, symlink_support, named_attr */
    [8] = "kk", /* fsid */
    [9] = "u",
    [10] = "u",
    [11] = "u", /* unique_handles, lease_time, rdattr_error */
    [12] = ACL, /* acl */
    [13] = "u", /* aclsupport */
    [14] = "u",
    [15] = "u",
    [16] = "u",
    [17] = "u",
    [18] = "u",
    [19] = "s", /* filehandle */
    [20] = "k", /* fileid */
    [21] = "h",
    [22] = "h",
    [23] = "h",                          /* files_avail, _free, _total */
    [24] = PATHNAME "[[s]" PATHNAME "]", /* fs_locations */
    [25] = "u",
    [26] = "u",
    [27] = "h", /* hidden, homogeneous, maxfilesize */
    [28] = "u",
    [29] = "u",
    [30] = "h",
    [31] = "h", /* maxlink ... maxwrite */
    [32] = "s", /* mimetype */
    [33] = "u",
    [34] = "u",
    [35] = "u", /* mode, no_trunc, numlinks */
    [36] = "s",
    [37] = "s", /* owner, owner_group */
    [38] = "h",
    [39] = "h",
    [40] = "h",  /* quotas */
    [41] = "uu", /* rawdev */
    [42] = "h",
    [43] = "h",
    [44] = "h",
    [45] = "h", /* space_avail ... space_used */
    [46] = "u", /* system */
    [47] = "t",
    [48] = SET_TIME, /* time_access, _set */
    [49] = "t",
    [50] = "t",  /* time_backup, time_create */
    [51] = "hu", /* time_delta */
    [52] = "t",
    [53] = "t",
    [54] = SET_TIME, /* time_metadata, time_modify, _set */
    [55] = "k",      /* mounted_on_fileid */
    [56] = "hu",
    [57] = "hu", /* dir_notif_delay, dirent_notif_delay */
    [58] = "u" ACL,
    [59] = "u" ACL,  /* dacl, sacl */
    [60] = "kk",     /* change_policy */
    [61] = "uussut", /* fs_status */
    [62] = "[u]",    /* fs_layout_types */
    [64] = "[u]",
    [65] = "u",
    [66] = "u",                                 /* layout_types, _blksize, _alignment */
    [67] = "uu" PATHNAME "[[uss]" PATHNAME "]", /* fs_locations_info */
    [69] = "h[t]",
    [70] = RETENTION_SET,
    [71] = "h[t]",
    [72] = RETENTION_SET,
    [73] = "h",
    [74] = "uu",  /* mode_set_masked */
    [75] = "[u]", /* suppattr_exclcreat */
    [76] = "u",
    [77] = "u",
    [78] = "h",
    [79] = "u",   /* fs_charset_cap ... change_attr_type */
    [80] = "uus", /* sec_label */
    [81] = "uu",  /* mode_umask */
    [82] = "u",
    [83] = "u",
    [84] = "t",
    [85] = "t",               /* xattr_support ... time_deleg_modify */
    [86] = "[u][u][u][u][u]", /* open_arguments */
};

enum { KNOWN = sizeof(attributes) / sizeof(attributes[0]) };

void sanitize_attributes(struct sanitize_walk *walk, size_t off, size_t n)
{
    struct sanitize_walk inner = *walk;
    bool known = true;

    inner.off = off;
    inner.len = off + n;
    if (inner.caplen > inner.len)
        inner.caplen = inner.len;
    inner.reduction = NULL;
    inner.plain_hyper = true;
    for (uint32_t i = 0; i < walk->bitmap_words && known && sanitize_walking(&inner); i++) {
        uint32_t bits = rpcrdma_get_be32(walk->p + walk->bitmap_off + (size_t)i * 4);

        for (uint32_t bit = 0; bit < 32 && known && sanitize_walking(&inner); bit++) {
            uint32_t number = i * 32 + bit;

            if (!(bits >> bit & 1))
                continue;
            known = number < KNOWN && attributes[number];
            if (known)
                sanitize_walk(&inner, attributes[number]);
        }
    }
    sanitize_blank(walk, inner.off, off + n - inner.off);
}
