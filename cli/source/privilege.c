/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* The number in an environment variable of sudo's; 0 where there is none. */
static unsigned long of_sudo(const char *name)
{
    const char *text = getenv(name);
    char *end;
    unsigned long n;

    if (!text || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    n = strtoul(text, &end, 10);
    return *end == '\0' && errno == 0 && n < UINT32_MAX ? n : 0;
}

static bool change_user(enum privilege_files files)
{
    unsigned long uid = of_sudo("SUDO_UID"), gid = of_sudo("SUDO_GID");

    if (geteuid() != 0)
        return true;
    if (uid == 0 && files == PRIVILEGE_WRITES_FILES)
        return true;
    if (uid == 0)
        uid = gid = NOBODY;
    /* In a user namespace that has no other user there is none to become: its root is the user
     * who made it. A capability that is missing (a container's root) is no reason to go on less
     * carefully than possible: the capabilities go in any case. */
    if (setgroups(0, NULL) != 0 && errno != EPERM)
        return false;
    if (gid != 0 && setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) != 0 && errno != EPERM &&
        errno != EINVAL)
        return false;
    return setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) == 0 || errno == EPERM || errno == EINVAL;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    /* ambient ones would go with the permitted ones; kernels before 4.3 have none */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0;
}

bool privilege_drop(enum privilege_files files, char *error, size_t size)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && change_user(files) && drop_capabilities())
        return true;
    snprintf(error, size, "privileges cannot be dropped: %s", strerror(errno));
    return false;
}
