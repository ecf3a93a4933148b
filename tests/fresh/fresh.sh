#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fresh.sh SOURCE FOLDER [SUITE...]: what a new user does, on a new system. In a chroot of each SUITE
# (bookworm trixie sid) that has git alone, as root in /root (mode 0700) and as an ordinary user who may
# sudo: steps.sh, which runs the commands of README.md as printed there, then installs, uninstalls, and
# builds and installs the packages; and by hand, as docs/building.md prints it. Needs root, debootstrap and a mirror of Debian (RPCRDMA_MIRROR). What
# is tried is what SOURCE has committed. FOLDER keeps the systems as debootstrap made them, apt's
# downloads, a log of each run, and results.md, a table for docs/fresh.md. RPCRDMA_WHO (root user hand),
# RPCRDMA_STEPS and RPCRDMA_TESTS (see steps.sh) name fewer; RPCRDMA_KEEP=1 keeps the last system.
set -eu
source=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- bookworm trixie sid
mirror=${RPCRDMA_MIRROR:-http://deb.debian.org/debian}
who=${RPCRDMA_WHO:-root user hand}

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "$0: needs root and debootstrap" >&2
    exit 1
fi

# The system as it comes, and git.
base() {
    [ ! -e "$folder/$1.tar" ] || return 0
    rm -rf "$folder/base"
    debootstrap --variant=minbase --include=ca-certificates,git "$1" "$folder/base" "$mirror" \
        >"$folder/$1.debootstrap.log"
    tar -C "$folder/base" -cf "$folder/$1.tar.part" .
    mv "$folder/$1.tar.part" "$folder/$1.tar"
    rm -rf "$folder/base"
}

# run SUITE USER: the steps, in a system of its own that is deleted afterwards
run() {
    suite=$1 user=$2
    root=$folder/root
    rm -rf --one-file-system "$root"
    mkdir -p "$root" "$folder/apt/$suite"
    tar -C "$root" -xf "$folder/$suite.tar"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # a mirror may be a snapshot
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/fresh"
    mkdir -p "$root/srv/fresh"
    cp "$source"/tests/fresh/steps.sh "$root/srv/fresh"
    git clone -q --bare "$source" "$root/srv/fresh/rpcrdma.git"
    # mounts and processes are those of a namespace that ends with it
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --propagation private sh -euc '
        root=$1 apt=$2 user=$3
        mount -t proc proc "$root/proc"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount --bind "$apt" "$root/var/cache/apt/archives"
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            RPCRDMA_STEPS="${RPCRDMA_STEPS:-}" \
            RPCRDMA_TESTS="${RPCRDMA_TESTS:-}" chroot "$root" sh /srv/fresh/steps.sh "$user"
        ' sh "$root" "$folder/apt/$suite" "$user"
}

# Rows of the table: a step each, with the machine's load at its end.
rows() {
    sed -n "s/^FRESH \([a-z]*\) \(.*\) \([0-9]*\) \([0-9.]*\)$/| $1 | $2 | \1 | \2 | \3 s | \4 |/p" "$3"
    # the tests that ran, and those that failed
    sed -n "s/^\([0-9]*% tests passed, .*\)$/| | | | \1 | | |/p
        s/^[[:blank:]]*[0-9]* - \([a-z.0-9-]* (.*)\)$/| | | | \1 | | |/p" "$3"
}

failed=
{
    echo "$(date -u '+%Y-%m-%d %H:%M') UTC, commit $(git -C "$source" rev-parse --short HEAD), $(nproc) cores"
    echo
    [ -z "${RPCRDMA_TESTS:-}" ] || printf 'Tests: %s\n\n' "$RPCRDMA_TESTS"
    echo '| system | as | step | result | time | load |'
    echo '| --- | --- | --- | --- | --- | --- |'
} >"$folder/results.md"
for suite; do
    base "$suite"
    for user in $who; do
        log=$folder/$suite-$user.log
        echo "== $suite, $user: $log"
        run "$suite" "$user" >"$log" 2>&1 || failed="$failed $suite/$user"
        rows "$suite" "$user" "$log" | tee -a "$folder/results.md"
        [ -n "${RPCRDMA_KEEP:-}" ] || rm -rf --one-file-system "$folder/root"
    done
done
cat "$folder/results.md"
[ -z "$failed" ] || {
    echo "failed:$failed" >&2
    exit 1
}
