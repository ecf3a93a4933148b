/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* In a user namespace that has no other user there is none to become: its root is the user who made
 * it. A capability that is missing (a container's root) is no reason to go on less carefully than
 * possible: the capabilities go in any case. */
static bool become(uid_t uid, gid_t gid)
{
    if (setgroups(0, NULL) != 0 && errno != EPERM)
        return false;
    if (setresgid(gid, gid, gid) != 0 && errno != EPERM && errno != EINVAL)
        return false;
    return setresuid(uid, uid, uid) == 0 || errno == EPERM || errno == EINVAL;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    /* ambient ones would go with the permitted ones; kernels before 4.3 have none */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0;
}

/* That a process ends with its parent goes with its privileges: it is said again. */
static void end_with(pid_t parent, int number)
{
    if (number == 0)
        return;
    prctl(PR_SET_PDEATHSIG, number);
    if (getppid() != parent) /* it ended meanwhile */
        raise(number);
}

static bool go_on_as(uid_t uid, gid_t gid, char *error, size_t size)
{
    const pid_t parent = getppid();
    int number = 0;

    prctl(PR_GET_PDEATHSIG, &number);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && (geteuid() != 0 || become(uid, gid)) &&
        drop_capabilities()) {
        end_with(parent, number);
        return true;
    }
    snprintf(error, size, "privileges cannot be dropped: %s", strerror(errno));
    return false;
}

/* The group is nobody's, too, where sudo does not say it. */
static gid_t group_of_sudo(void)
{
    unsigned long gid = of_sudo("SUDO_GID");

    return gid != 0 ? (gid_t)gid : NOBODY;
}

bool privilege_drop(char *error, size_t size)
{
    unsigned long uid = of_sudo("SUDO_UID");

    return uid != 0 ? go_on_as((uid_t)uid, group_of_sudo(), error, size)
                    : go_on_as(NOBODY, NOBODY, error, size);
}

bool privilege_drop_to_folder(int folder, char *error, size_t size)
{
    unsigned long uid = of_sudo("SUDO_UID");
    struct stat st;

    if (uid != 0)
        return go_on_as((uid_t)uid, group_of_sudo(), error, size);
    if (fstat(folder, &st) != 0) {
        snprintf(error, size, "%s", strerror(errno));
        return false;
    }
    return go_on_as(st.st_uid, st.st_gid, error, size);
}

void privilege_lend(struct privilege_lent *lent)
{
    enum { MOST = sizeof(lent->groups) / sizeof(lent->groups[0]) };
    unsigned long uid = of_sudo("SUDO_UID");

    *lent = (struct privilege_lent){.lent = geteuid() == 0 && uid != 0, .n = -1};
    if (!lent->lent)
        return;
    lent->n = getgroups(MOST, lent->groups);
    if (lent->n >= 0 && setgroups(0, NULL) != 0)
        lent->n = -1;
    setfsgid(group_of_sudo());
    setfsuid((uid_t)uid); /* takes the capabilities with it that concern files */
}

void privilege_return(const struct privilege_lent *lent)
{
    int before = errno;

    if (!lent->lent)
        return;
    setfsuid(0);
    setfsgid(getegid());
    if (lent->n >= 0 && setgroups((size_t)lent->n, lent->groups) != 0)
        lent = NULL; /* fewer groups than before: nothing is lost that root has not got */
    errno = before;
}
