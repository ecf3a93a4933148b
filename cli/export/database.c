/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "export/database.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"
#include "export/stores.h"
#include "output/finish.h"
#include "source/rights/create.h"
#include "source/rights/privilege.h"
#include "source/rights/sandbox.h"

enum { STORE_FAILED = 64 }; /* an exit status: the database cannot be written, which was said */

struct database {
    const struct options *options;
    struct database_name name;
    char *folder; /* resolved */
    int fd;       /* of the folder */
    size_t cache;
};

static volatile sig_atomic_t child_is; /* whom signals are for */

static void pass_on(int number)
{
    if (child_is > 0)
        kill((pid_t)child_is, number);
}

static int wait_for(pid_t child, const char *what)
{
    int how;

    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR)
            return EXIT_UNUSABLE;
    if (WIFEXITED(how))
        return WEXITSTATUS(how);
    complain("the process that %s was ended by signal %d (%s)", what, WTERMSIG(how),
             strsignal(WTERMSIG(how)));
    return EXIT_UNUSABLE;
}

/* A new database belongs to whom the others write for: root's to the folder's owner, who goes on.
 */
static void create_for_owner(const struct database *db)
{
    struct privilege_lent lent;
    struct stat is;
    int fd;

    privilege_lend(&lent);
    fd = open(db->name.resolved, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 && geteuid() == 0 && !lent.lent && fstat(db->fd, &is) == 0 &&
        fchown(fd, is.st_uid, is.st_gid) != 0)
        complain("%s: it still belongs to root: %s", db->name.given, strerror(errno));
    if (fd >= 0)
        close(fd);
    privilege_return(&lent);
}

/* Two exports at once would take each other's rows for their own, or make the tables twice. The
 * lock ends with the last of our processes. It lies before those of SQLite (PENDING_BYTE), whose
 * kind would end with any descriptor of the file. False: another one has it; it was said. */
static bool lock_others_out(struct database *db)
{
    enum { BEFORE_SQLITE = 0x40000000 - 2 };
    struct flock one = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = BEFORE_SQLITE, .l_len = 1};
    struct privilege_lent lent;

    privilege_lend(&lent);
    db->name.fd = open(db->name.resolved, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    privilege_return(&lent);
    if (db->name.fd < 0 || fcntl(db->name.fd, F_OFD_SETLK, &one) == 0 ||
        (errno != EAGAIN && errno != EACCES)) /* what is wrong with it, SQLite says */
        return true;
    complain("%s: another export writes to it", db->name.given);
    return false;
}

/* Whether the last step can write to the folder, without the rights that it has no more then:
 * SQLite makes a journal beside the database. Else it was said. */
static bool folder_is_writable(const struct database *db)
{
    pid_t child = fork();
    char error[200];
    int reason;

    if (child < 0) {
        complain("no process to look at %s: %s", db->folder, strerror(errno));
        return false;
    }
    if (child > 0) {
        reason = wait_for(child, "looks at the folder");
        if (reason != 0)
            complain("%s: %s", db->name.given, strerror(reason));
        return reason == 0;
    }
    if (!privilege_drop_to_folder(db->fd, error, sizeof(error)))
        _exit(EPERM);
    _exit(faccessat(db->fd, ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno);
}

/* What an unprivileged process wrote is read without privileges, too. */
static int make_indexes(const struct database *db)
{
    pid_t child = fork();
    char error[200];

    if (child < 0) {
        complain("no process to make indexes: %s", strerror(errno));
        return EXIT_UNUSABLE;
    }
    if (child > 0)
        return wait_for(child, "makes indexes");
    if (!privilege_drop_to_folder(db->fd, error, sizeof(error))) {
        complain("%s", error);
        _exit(EXIT_UNUSABLE);
    }
    setenv("SQLITE_TMPDIR", db->folder, 1);
    if (!db->options->no_sandbox)
        sandbox_enter(&(struct sandbox){
            .creates = true, .folder = db->fd, .reads = (char *const *)&db->folder, .n_reads = 1});
    _exit(store_sqlite_finish(&db->name, db->cache, db->options->quiet));
}

static int add_rows(const struct database *db, int (*fill)(void *context, struct store *store),
                    void *context)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = pass_on}, before[3];
    struct store *store;
    pid_t child;
    int status;

    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &action, &before[i]);
    child = fork();
    if (child < 0) {
        complain("no process to read packets: %s", strerror(errno));
        return STORE_FAILED;
    }
    if (child > 0) {
        child_is = child;
        status = wait_for(child, "reads packets");
        child_is = 0;
        return status;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &before[i], NULL);
    store = store_sqlite(&db->name, db->cache, db->options->quiet,
                         db->options->n_devices > 0 || db->options->follow);
    if (!store)
        _exit(STORE_FAILED);
    status = fill(context, store);
    _exit(store->end(store, EXIT_DONE) == EXIT_DONE ? status : STORE_FAILED);
}

/* The folder's path is resolved: SQLite takes a path with a symbolic link anywhere for one. What
 * leads to the file is the user's, the file itself is none. */
static bool find(struct database *db, const char *path)
{
    char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);

    db->fd = -1;
    db->name.given = path;
    db->folder = realpath(folder, NULL);
    if (db->folder) {
        db->name.resolved = g_build_filename(db->folder, name, NULL);
        db->fd = open(db->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (db->fd < 0)
        complain("%s: %s", path, strerror(errno));
    g_free(folder);
    g_free(name);
    return db->fd >= 0;
}

bool database_possible(const struct options *options, const char *path)
{
    static const char *const beside[] = {"", "-journal", "-wal", "-shm"};
    struct stat is;

    if (lstat(path, &is) == 0 && !S_ISREG(is.st_mode)) {
        complain("%s: %s", path,
                 S_ISLNK(is.st_mode) ? create_error(ELOOP)
                                     : "it is no regular file, and a database is one");
        return false;
    }
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
        if (options_reads_beside(options, path, beside[i]))
            return false;
    return true;
}

static bool has_content(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && is.st_size > 0;
}

static int export_into(struct database *db, int (*fill)(void *context, struct store *store),
                       void *context)
{
    int status, finished;

    if (!folder_is_writable(db))
        return EXIT_UNUSABLE;
    if (!has_content(db->name.resolved))
        create_for_owner(db);
    if (!lock_others_out(db))
        return EXIT_UNUSABLE;
    if (has_content(
            db->name.resolved)) { /* an export that was ended may not have made its indexes */
        status = make_indexes(db);
        if (status != EXIT_DONE)
            return status;
    }
    status = add_rows(db, fill, context);
    if (status == STORE_FAILED)
        return EXIT_UNUSABLE;
    finished = make_indexes(db);
    return finished != EXIT_DONE ? finished : status;
}

int database_export(const struct options *options, const char *path,
                    int (*fill)(void *context, struct store *store), void *context)
{
    struct database db = {
        .options = options, .name = {.fd = -1}, .cache = options_memory(options, 1)};
    int status = EXIT_UNUSABLE;

    if (find(&db, path)) {
        status = export_into(&db, fill, context);
        close(db.fd);
    }
    if (db.name.fd >= 0)
        close(db.name.fd);
    g_free(db.name.resolved);
    free(db.folder);
    return status;
}
