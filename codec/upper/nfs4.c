/* SPDX-License-Identifier: BSD-2-Clause */
#include "upper/nfs4.h"

#include <stddef.h>

/* Types that operations share; comments give what stands in a row of letters. */
#define STATEID "x16"
#define SESSION "x16"
#define DEVICE "x16"
#define VERIFIER "x8"
#define TIME "hu"
#define BITMAP "[u]"
#define FATTR BITMAP "s"
#define CINFO "uhh" /* atomic, before, after */
#define OWNER "hs"  /* clientid, owner */
#define NETADDR "ss"
#define NETLOC "<1,2:s;3:" NETADDR ">"
#define CHANNEL "uuuuuu[u]" /* channel_attrs4 */
#define CALLBACK_SECURITY "[<0:;1:usuu[u];6:uss>]"
#define PROTECT_OPS BITMAP BITMAP
#define IMPLEMENTATION "[ss" TIME "]"
#define ACE "uuus"
#define SPACE_LIMIT "<1:h;2:uu>"
#define DELEGATION "<0:;1,4:" STATEID "u" ACE ";2,5:" STATEID "u" SPACE_LIMIT ACE ";3:<1,2:u;*:>>"
#define LAYOUT_BODY "us" /* type, opaque body */
#define WRITTEN "[" STATEID "]hu" VERIFIER
#define SECINFO_RESULT "<0:[<6:suu;*:>];*:>"
#define NOTIFICATIONS "[" BITMAP "s]"

/* Most results: something on success, else nothing. */
#define OK(what) "<0:" what ";*:>"
#define STATUS "u"

static const struct rpcrdma_nfs4_operation operations[] = {
    {3, "ACCESS", "u", OK("uu")},
    {4, "CLOSE", "u" STATEID, OK(STATEID)},
    {5, "COMMIT", "hu", OK(VERIFIER)},
    /* NF4LNK's linkdata may travel in a read chunk */
    {6, "CREATE", "<5:d;3,4:uu;*:>s" FATTR, OK(CINFO BITMAP)},
    {7, "DELEGPURGE", "h", STATUS},
    {8, "DELEGRETURN", STATEID, STATUS},
    {9, "GETATTR", BITMAP, OK(FATTR)},
    {10, "GETFH", "", OK("s")},
    {11, "LINK", "s", OK(CINFO)},
    {12, "LOCK", "uuhh<1:u" STATEID "u" OWNER ";0:" STATEID "u>",
     "<0:" STATEID ";10010:hhu" OWNER ";*:>"},
    {13, "LOCKT", "uhh" OWNER, "<10010:hhu" OWNER ";*:>"},
    {14, "LOCKU", "uu" STATEID "hh", OK(STATEID)},
    {15, "LOOKUP", "s", STATUS},
    {16, "LOOKUPP", "", STATUS},
    {17, "NVERIFY", FATTR, STATUS},
    /* seqid, access, deny, owner; openflag4; open_claim4 */
    {18, "OPEN",
     "uuu" OWNER "<1:<0,1:" FATTR ";2:" VERIFIER ";3:" VERIFIER FATTR ">;*:>"
     "<0,3:s;1:u;2:" STATEID "s;4,6:;5:" STATEID ">",
     OK(STATEID CINFO "u" BITMAP DELEGATION)},
    {19, "OPENATTR", "u", STATUS},
    {20, "OPEN_CONFIRM", STATEID "u", OK(STATEID)},
    {21, "OPEN_DOWNGRADE", STATEID "uuu", OK(STATEID)},
    {22, "PUTFH", "s", STATUS},
    {23, "PUTPUBFH", "", STATUS},
    {24, "PUTROOTFH", "", STATUS},
    {25, "READ", STATEID "hu", OK("ud")},
    {26, "READDIR", "h" VERIFIER "uu" BITMAP, OK(VERIFIER "{hs" FATTR "}u")},
    {27, "READLINK", "", OK("d")},
    {28, "REMOVE", "s", OK(CINFO)},
    {29, "RENAME", "ss", OK(CINFO CINFO)},
    {30, "RENEW", "h", STATUS},
    {31, "RESTOREFH", "", STATUS},
    {32, "SAVEFH", "", STATUS},
    {33, "SECINFO", "s", SECINFO_RESULT},
    {34, "SETATTR", STATEID FATTR, "u" BITMAP}, /* the bitmap is there in failure, too */
    {35, "SETCLIENTID", VERIFIER "su" NETADDR "u", "<0:h" VERIFIER ";10017:" NETADDR ";*:>"},
    {36, "SETCLIENTID_CONFIRM", "h" VERIFIER, STATUS},
    {37, "VERIFY", FATTR, STATUS},
    {38, "WRITE", STATEID "hud", OK("uu" VERIFIER)},
    {39, "RELEASE_LOCKOWNER", OWNER, STATUS},
    {40, "BACKCHANNEL_CTL", "u" CALLBACK_SECURITY, STATUS},
    {41, "BIND_CONN_TO_SESSION", SESSION "uu", OK(SESSION "uu")},
    /* verifier, owner, flags; state_protect4_a; implementation */
    {42, "EXCHANGE_ID",
     VERIFIER "su<0:;1:" PROTECT_OPS ";2:" PROTECT_OPS "[s][s]uu>" IMPLEMENTATION,
     OK("huu<0:;1:" PROTECT_OPS ";2:" PROTECT_OPS "uuuu[s]>hss" IMPLEMENTATION)},
    {43, "CREATE_SESSION", "huu" CHANNEL CHANNEL "u" CALLBACK_SECURITY,
     OK(SESSION "uu" CHANNEL CHANNEL)},
    {44, "DESTROY_SESSION", SESSION, STATUS},
    {45, "FREE_STATEID", STATEID, STATUS},
    {46, "GET_DIR_DELEGATION", "u" BITMAP TIME TIME BITMAP BITMAP,
     OK("<0:" VERIFIER STATEID BITMAP BITMAP BITMAP ";1:u>")},
    {47, "GETDEVICEINFO", DEVICE "uu" BITMAP, "<0:" LAYOUT_BODY BITMAP ";10005:u;*:>"},
    {48, "GETDEVICELIST", "uuh" VERIFIER, OK("h" VERIFIER "[" DEVICE "]u")},
    {49, "LAYOUTCOMMIT", "hhu" STATEID "<1:h;0:><1:" TIME ";0:>" LAYOUT_BODY, OK("<1:h;0:>")},
    {50, "LAYOUTGET", "uuuhhh" STATEID "u", "<0:u" STATEID "[hhu" LAYOUT_BODY "];10058:u;*:>"},
    {51, "LAYOUTRETURN", "uuu<1:hh" STATEID "s;2,3:>", OK("<1:" STATEID ";0:>")},
    {52, "SECINFO_NO_NAME", "u", SECINFO_RESULT},
    {53, "SEQUENCE", SESSION "uuuu", OK(SESSION "uuuuu")},
    {54, "SET_SSV", "ss", OK("s")},
    {55, "TEST_STATEID", "[" STATEID "]", OK(BITMAP)},
    {56, "WANT_DELEGATION", "u<1:u;4,6:>", OK(DELEGATION)},
    {57, "DESTROY_CLIENTID", "h", STATUS},
    {58, "RECLAIM_COMPLETE", "u", STATUS},
    {59, "ALLOCATE", STATEID "hh", STATUS},
    {60, "COPY", STATEID STATEID "hhhuu[" NETLOC "]", "<0:" WRITTEN "uu;10094:uu;*:>"},
    {61, "COPY_NOTIFY", STATEID NETLOC, OK(TIME STATEID "[" NETLOC "]")},
    {62, "DEALLOCATE", STATEID "hh", STATUS},
    {63, "IO_ADVISE", STATEID "hh" BITMAP, OK(BITMAP)},
    {64, "LAYOUTERROR", "hh" STATEID "[" DEVICE "uu]", STATUS},
    {65, "LAYOUTSTATS", "hh" STATEID "hhhh" DEVICE LAYOUT_BODY, STATUS},
    {66, "OFFLOAD_CANCEL", STATEID, STATUS},
    {67, "OFFLOAD_STATUS", STATEID, OK("h[u]")},
    {68, "READ_PLUS", STATEID "hu", OK("u[<0:hd;1:hh>]")},
    {69, "SEEK", STATEID "hu", OK("uh")},
    {70, "WRITE_SAME", STATEID "uhhhhuhs", OK(WRITTEN)},
    {71, "CLONE", STATEID STATEID "hhh", STATUS},
    {72, "GETXATTR", "s", OK("s")},
    {73, "SETXATTR", "uss", OK(CINFO)},
    {74, "LISTXATTRS", "hu", OK("h[s]u")},
    {75, "REMOVEXATTR", "s", OK(CINFO)},
    {10044, "ILLEGAL", "", STATUS},
};

static const struct rpcrdma_nfs4_operation callbacks[] = {
    {3, "CB_GETATTR", "s" BITMAP, OK(FATTR)},
    {4, "CB_RECALL", STATEID "us", STATUS},
    {5, "CB_LAYOUTRECALL", "uuu<1:shh" STATEID ";2:hh;3:>", STATUS},
    {6, "CB_NOTIFY", STATEID "s" NOTIFICATIONS, STATUS},
    {7, "CB_PUSH_DELEG", "s" DELEGATION, STATUS},
    {8, "CB_RECALL_ANY", "u" BITMAP, STATUS},
    {9, "CB_RECALLABLE_OBJ_AVAIL", "u" BITMAP, STATUS},
    {10, "CB_RECALL_SLOT", "u", STATUS},
    {11, "CB_SEQUENCE", SESSION "uuuu[" SESSION "[uu]]", OK(SESSION "uuuu")},
    {12, "CB_WANTS_CANCELLED", "uu", STATUS},
    {13, "CB_NOTIFY_LOCK", "s" OWNER, STATUS},
    {14, "CB_NOTIFY_DEVICEID", NOTIFICATIONS, STATUS},
    {15, "CB_OFFLOAD", "s" STATEID "<0:" WRITTEN ";*:h>", STATUS},
    {10044, "CB_ILLEGAL", "", STATUS},
};

/* Both tables are dense from 3 on but for the last entry, ILLEGAL. */
static const struct rpcrdma_nfs4_operation *find(const struct rpcrdma_nfs4_operation *table,
                                                 size_t n, uint32_t number)
{
    if (number >= 3 && number - 3 < n - 1)
        return &table[number - 3];
    return number == table[n - 1].number ? &table[n - 1] : NULL;
}

const struct rpcrdma_nfs4_operation *rpcrdma_nfs4_operation(uint32_t number)
{
    return find(operations, sizeof(operations) / sizeof(operations[0]), number);
}

const struct rpcrdma_nfs4_operation *rpcrdma_nfs4_callback(uint32_t number)
{
    return find(callbacks, sizeof(callbacks) / sizeof(callbacks[0]), number);
}
