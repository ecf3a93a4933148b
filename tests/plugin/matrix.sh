#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# matrix.sh SOURCE FOLDER [RECORDINGS]: builds the plugin and runs its tests against the Wireshark of
# Debian's trixie and sid, each in a folder of its own below FOLDER, made by debootstrap once. As root.
# RPCRDMA_SUITES names other suites; RPCRDMA_MIRROR another mirror.
set -eu
source=$1 folder=$2 recordings=${3:-}
suites=${RPCRDMA_SUITES:-trixie sid}
mirror=${RPCRDMA_MIRROR:-http://deb.debian.org/debian}
packages="tshark wireshark-dev cmake ninja-build gcc libc6-dev libglib2.0-dev pkg-config python3
zlib1g-dev libzstd-dev"

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "$0: needs root and debootstrap" >&2
    exit 1
fi

install_suite() {
    suite=$1 root=$2
    # the packages come by apt: debootstrap cannot choose between packages that provide another
    debootstrap --variant=minbase "$suite" "$root" "$mirror"
    chroot "$root" sh -c "apt-get -qq -o Acquire::Check-Valid-Until=false update &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $(echo $packages)" \
        >"$root/install.log"
    touch "$root/installed"
}

failed=
for suite in $suites; do
    root=$folder/$suite
    [ -e "$root/installed" ] || install_suite "$suite" "$root"
    [ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
    chmod 1777 "$root/tmp"
    rm -rf "$root/source" "$root/recordings"
    mkdir -p "$root/source" "$root/build"
    tar -C "$source" --exclude .git -cf - . | tar -C "$root/source" -xf -
    if [ -n "$recordings" ]; then
        mkdir "$root/recordings"
        cp -r "$recordings/." "$root/recordings"
    fi
    version=$(chroot "$root" tshark -v 2>/dev/null | sed -n '1s/.* \([0-9]*\.[0-9]*\)\..*/\1/p')
    echo "== $suite: Wireshark $version"
    # warnings of compilers and headers to come are shown, and no reason not to test
    chroot "$root" sh -c 'cmake -G Ninja -S /source -B /build -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DRPCRDMA_WERROR=OFF -DBUILD_TESTING=OFF >/build/cmake.log &&
        cmake --build /build --target rpcrdma_plugin rpcrdma_command >/build/build.log' || {
        tail -30 "$root/build/build.log"
        exit 1
    }
    grep warning: "$root/build/build.log" || true
    for test in "$source"/tests/plugin/*_test.py; do
        name=$(basename "$test" .py)
        for captures in /source/captures ${recordings:+/recordings}; do
            # recordings that are large are run by the tests that count, not by those that compare trees
            case $captures:$name in
            /recordings:rpc_test | /recordings:export_test) ;;
            /recordings:*) continue ;;
            esac
            extra=
            if [ "$name" = install_test ]; then
                folder_of_plugins=$(chroot "$root" pkg-config --variable=plugindir wireshark)
                extra="cmake /build RelWithDebInfo $folder_of_plugins /usr/share/wireshark"
            fi
            echo "-- $name $captures"
            chroot "$root" env LC_ALL=C.UTF-8 python3 "/source/tests/plugin/$name.py" \
                /usr/bin/tshark /build/plugin/rpcrdma.so "$version" /build/cli/rpcrdma "$captures" $extra ||
                failed="$failed $suite/$name"
        done
    done
done
[ -z "$failed" ] || {
    echo "failed:$failed" >&2
    exit 1
}
