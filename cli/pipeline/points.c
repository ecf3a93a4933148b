/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/points.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"
#include "output/finish.h"

/* As rpcrdma-batch has them. */
#define CAPTURES "\\.(pcap|pcapng|cap|dmp|ntar|snoop|erf)(\\.(gz|zst|xz|bz2|lz4))?$"
#define RING "^(.*)_([0-9]{5,18})_[0-9]{14}(\\.[^/]*)?$"

static bool is_folder(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

/* A pipe or a device: it may never end, or never begin. */
static bool is_stream(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode);
}

static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") && access(path, F_OK) != 0;
}

int points_check(const struct command *command, const struct options *options, int *jobs)
{
    if (*jobs == POINTS_JOBS_UNSAID) {
        *jobs = 0;
        return OPTIONS_GO_ON;
    }
    if (*jobs < 1 || *jobs > 1024)
        return bad_usage(command, "-j: %d is no number of processes from 1 to 1024", *jobs);
    if (options->n_devices > 0)
        return bad_usage(command, "-j is for files");
    return OPTIONS_GO_ON;
}

bool points_wanted(const struct options *options, guint jobs)
{
    if (jobs > 0)
        return true;
    for (guint i = 0; i < options->n_files; i++)
        if (is_folder(options->files[i]) || is_pattern(options->files[i]))
            return true;
    return false;
}

/* -- which there are ------------------------------------------------------------------------- */

struct found {
    char *path, *key; /* of the ring, or of the file */
    uint64_t number;  /* in the ring */
};

struct search {
    GArray *found; /* of struct found */
    GRegex *captures, *ring;
    bool quiet;
    int status;
};

static void add(struct search *search, const char *path)
{
    struct found found = {.path = g_canonicalize_filename(path, NULL)};
    GMatchInfo *match;

    if (g_regex_match(search->ring, found.path, 0, &match)) {
        char *number = g_match_info_fetch(match, 2);

        found.key = g_match_info_fetch(match, 1);
        found.number = g_ascii_strtoull(number, NULL, 10);
        g_free(number);
    } else {
        found.key = g_strdup(found.path);
    }
    g_match_info_unref(match);
    g_array_append_val(search->found, found);
}

/* What nobody named. */
static void add_found(struct search *search, const char *path)
{
    if (!is_stream(path))
        add(search, path);
    else if (!search->quiet)
        complain("%s: it is no regular file, and left out", path);
}

/* A folder whose files cannot be found is a point that cannot be read: its process says so, and
 * the others are answered. */
static void add_unread(struct search *search, const char *path, int error)
{
    if (error != EACCES) /* else it meets that itself */
        complain("%s: %s", path, strerror(error));
    add(search, path);
}

static void add_folder(struct search *search, const char *path);

/* Links to folders are not followed: they may lead in a circle. */
static void add_entry(struct search *search, const char *path, const struct dirent *entry)
{
    const bool capture = g_regex_match(search->captures, entry->d_name, 0, NULL);
    struct stat is;

    if (lstat(path, &is) != 0) {
        if (errno != ENOENT && (capture || entry->d_type == DT_DIR)) /* else it went meanwhile */
            add_unread(search, path, errno);
    } else if (S_ISDIR(is.st_mode)) {
        add_folder(search, path);
    } else if (capture && !is_folder(path)) {
        add_found(search, path);
    }
}

static void add_folder(struct search *search, const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    if (!folder) {
        add_unread(search, path, errno);
        return;
    }
    while (errno = 0, (entry = readdir(folder))) {
        char *below = g_build_filename(path, entry->d_name, NULL);

        if (entry->d_name[0] != '.')
            add_entry(search, below, entry);
        g_free(below);
    }
    if (errno != 0)
        add_unread(search, path, errno);
    closedir(folder);
}

static struct search *matching; /* glob gives what it calls no context */

static int on_unread(const char *path, int error)
{
    if (error != ENOENT && error != ENOTDIR)
        add_unread(matching, path, error);
    return 0; /* go on */
}

static void add_argument(struct search *search, const char *path)
{
    if (is_folder(path)) {
        add_folder(search, path);
    } else if (is_pattern(path)) {
        const guint before = search->found->len;
        glob_t matched = {0};

        matching = search;
        if (glob(path, 0, on_unread, &matched) != 0 && search->found->len == before) {
            complain("%s: no file matches", path);
            search->status = EXIT_UNUSABLE;
        }
        for (size_t i = 0; i < matched.gl_pathc; i++) {
            const char *name = matched.gl_pathv[i];

            if (is_folder(name))
                add_folder(search, name);
            else
                add_found(search, name);
        }
        globfree(&matched);
    } else if (strcmp(path, "-") == 0) {
        complain("standard input is no capture point: give files or folders");
        search->status = EXIT_UNUSABLE;
    } else {
        add(search, path);
    }
}

static gint in_order(gconstpointer a, gconstpointer b)
{
    const struct found *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    if (order == 0)
        order = (x->number > y->number) - (x->number < y->number);
    return order != 0 ? order : strcmp(x->path, y->path);
}

/* How much of all keys is the folder that they have in common. */
static size_t common(const GArray *found)
{
    const char *first = g_array_index(found, struct found, 0).key;
    size_t n = strlen(first);

    for (guint i = 1; i < found->len; i++) {
        const char *key = g_array_index(found, struct found, i).key;
        size_t same = 0;

        while (same < n && key[same] == first[same])
            same++;
        n = same;
    }
    while (n > 0 && first[n - 1] != '/')
        n--;
    return n;
}

static void make_points(struct points *points, const GArray *found)
{
    size_t skipped = common(found);

    points->point = g_new0(struct point, found->len);
    for (guint i = 0; i < found->len; i++) {
        const struct found *one = &g_array_index(found, struct found, i), *last = one - 1;
        struct point *point;

        if (i > 0 && strcmp(last->path, one->path) == 0)
            continue;
        if (i == 0 || strcmp(last->key, one->key) != 0)
            points->point[points->n++].name = g_strdup(one->key + skipped);
        point = &points->point[points->n - 1];
        point->files = g_renew(char *, point->files, point->n_files + 2);
        point->files[point->n_files++] = g_strdup(one->path);
        point->files[point->n_files] = NULL;
    }
}

static void free_found(gpointer data)
{
    struct found *found = data;

    g_free(found->path);
    g_free(found->key);
}

int points_find(struct points *points, const struct options *options)
{
    struct search search = {.found = g_array_new(FALSE, FALSE, sizeof(struct found)),
                            .captures = g_regex_new(CAPTURES, G_REGEX_RAW, 0, NULL),
                            .ring = g_regex_new(RING, G_REGEX_RAW | G_REGEX_DOTALL, 0, NULL),
                            .quiet = options->quiet,
                            .status = OPTIONS_GO_ON};

    *points = (struct points){0};
    g_array_set_clear_func(search.found, free_found);
    for (guint i = 0; i < options->n_files; i++)
        add_argument(&search, options->files[i]);
    if (search.status == OPTIONS_GO_ON && search.found->len == 0) {
        complain("%s: no capture is there", options->files[0]);
        search.status = EXIT_UNUSABLE;
    }
    g_array_sort(search.found, in_order);
    if (search.status == OPTIONS_GO_ON)
        make_points(points, search.found);
    g_array_unref(search.found);
    g_regex_unref(search.captures);
    g_regex_unref(search.ring);
    return search.status;
}

void points_free(struct points *points)
{
    for (guint i = 0; i < points->n; i++) {
        g_free(points->point[i].name);
        g_strfreev(points->point[i].files);
    }
    g_free(points->point);
}

/* -- a process each -------------------------------------------------------------------------- */

/* The exit status of one that could not write all of its output. */
enum { OUTPUT_CUT = 64 };

struct work {
    pid_t pid; /* 0: not begun, or done */
    int status;
    int out; /* a file without a name; -1: none */
    bool begun;
    bool whole; /* the output */
};

/* However that ends: nobody is there to take what it writes. */
static void end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it was over before */
        _exit(EXIT_UNUSABLE);
}

/* The outputs of those from `first` on are its parent's, up to its own. */
_Noreturn static void work_on(const struct point *point, struct options *options,
                              const struct work *first, const struct work *own,
                              const struct points_call *call)
{
    int status;

    g_strfreev(options->files);
    options->files = point->files;
    options->n_files = point->n_files;
    options->json_header = false; /* it stands in front of all of them */
    output_is(g_strconcat(point->name, ": temporary file", NULL));
    if (dup2(own->out, STDOUT_FILENO) < 0)
        _exit(EXIT_UNUSABLE);
    for (; first <= own; first++)
        if (first->out > STDERR_FILENO)
            close(first->out);
    status = call->one(call->context, point);
    exit(output_failed() ? OUTPUT_CUT : status);
}

static int nameless(void)
{
    char *name;
    int fd = g_file_open_tmp("rpcrdma-XXXXXX", &name, NULL);

    if (fd < 0)
        return -1;
    unlink(name);
    g_free(name);
    return fd;
}

/* How many may be begun whose output is yet to be shown: each has a file open, and the rest of the
 * command needs some. */
static guint most_begun(void)
{
    enum { OTHERS = 24, MOST = 512 };
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= OTHERS)
        return 1;
    return (guint)MIN(files.rlim_cur - OTHERS, MOST);
}

/* False: it has no process. Where others have, that may be for want of what they give back: it is
 * not begun then, and no error. */
static bool begin(struct work *work, const struct work *first, const struct point *point,
                  struct options *options, const struct points_call *call, bool others)
{
    const pid_t own = getpid();

    work->status = EXIT_UNUSABLE;
    work->out = nameless();
    work->pid = work->out >= 0 ? fork() : -1;
    if (work->pid == 0) {
        end_with(own);
        work_on(point, options, first, work, call);
    }
    work->begun = work->pid > 0 || !others;
    if (work->pid > 0)
        return true;
    if (work->begun)
        complain("%s: %s", point->name, strerror(errno));
    else if (work->out >= 0)
        close(work->out);
    work->pid = 0;
    return false;
}

/* Until one has ended. */
static void await(struct work *work, const struct points *points)
{
    int status;
    pid_t pid;

    do
        pid = waitpid(-1, &status, 0);
    while (pid < 0 && errno == EINTR);
    for (guint i = 0; i < points->n; i++) {
        if (pid <= 0 || work[i].pid != pid)
            continue;
        work[i].pid = 0;
        work[i].whole = WIFEXITED(status) && WEXITSTATUS(status) != OUTPUT_CUT;
        if (work[i].whole)
            work[i].status = WEXITSTATUS(status);
        else if (WIFSIGNALED(status))
            complain("%s: ended by signal %d: its output is left out", points->point[i].name,
                     WTERMSIG(status));
        else
            complain("%s: its output is left out", points->point[i].name);
    }
}

static bool copy(int from, struct out *out)
{
    char buffer[16384];
    ssize_t n;

    if (lseek(from, 0, SEEK_SET) != 0)
        return false;
    while ((n = read(from, buffer, sizeof(buffer))) > 0)
        out_bytes(out, buffer, (size_t)n);
    return n == 0;
}

static void put(struct work *work, const struct point *point, const struct points_call *call,
                struct out *out)
{
    if (call->before)
        call->before(call->context, point, out);
    if (work->out < 0)
        return;
    if (work->whole && !copy(work->out, out)) {
        complain("%s: %s", point->name, strerror(errno));
        work->status = EXIT_UNUSABLE;
    }
    close(work->out);
}

int points_each(const struct points *points, struct options *options, guint jobs,
                const struct points_call *call)
{
    struct work *work = g_new0(struct work, points->n);
    const guint most = most_begun();
    guint begun = 0, running = 0;
    struct out out;
    int worst = EXIT_DONE, status = begin_output(options, &out);

    options->no_progress = true;
    for (guint i = 0; status == OPTIONS_GO_ON && i < points->n; i++) {
        while (!work[i].begun || work[i].pid != 0) {
            while (begun < points->n && running < MAX(jobs, 1) && begun - i < most) {
                running += begin(&work[begun], &work[i], &points->point[begun], options, call,
                                 running > 0);
                if (!work[begun].begun)
                    break;
                begun++;
            }
            if (work[i].pid != 0) {
                await(work, points);
                running--;
            }
        }
        put(&work[i], &points->point[i], call, &out);
        worst = MAX(worst, work[i].status);
        if (out.error != 0)
            break;
    }
    if (status == OPTIONS_GO_ON)
        status = end_output(&out, worst);
    g_free(work);
    return status;
}
