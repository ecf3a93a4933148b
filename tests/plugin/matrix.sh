#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# matrix.sh SOURCE FOLDER [RECORDINGS]: builds the plugin against the Wireshark of several releases and runs
# its tests, each in a folder of its own below FOLDER, made by debootstrap once: Debian's bookworm (4.0),
# Ubuntu's noble (4.2), Debian's trixie (4.4) and sid (4.6). As root. What compares whole recordings runs
# on those of RECORDINGS, too; `rows.py` then compares every field of each with the first suite's.
# RPCRDMA_SUITES names other suites, RPCRDMA_MIRROR another mirror of Debian's, RPCRDMA_TESTS fewer
# tests ("none": only the rows are compared). Ubuntu's keys come from sid's package ubuntu-keyring, checked by
# apt, unless ubuntu-archive-keyring.gpg is in FOLDER.
set -eu
source=$1 folder=$2 recordings=${3:-}
suites=${RPCRDMA_SUITES:-bookworm noble trixie sid}
mirror=${RPCRDMA_MIRROR:-http://deb.debian.org/debian}
whole="rpc export fields" # what compares whole recordings
packages="tshark wireshark-dev cmake ninja-build gcc libc6-dev libglib2.0-dev pkg-config python3
zlib1g-dev libzstd-dev"

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "$0: needs root and debootstrap" >&2
    exit 1
fi

ubuntu_keys() {
    [ ! -e "$folder/ubuntu-archive-keyring.gpg" ] || return 0
    [ -e "$folder/sid/installed" ] || install_suite sid "$folder/sid"
    chroot "$folder/sid" sh -c 'cd /tmp && apt-get -qq download ubuntu-keyring && dpkg-deb -x ubuntu-keyring_*.deb keys'
    cp "$folder/sid/tmp/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg" "$folder"
}

bootstrap() (
    suite=$1 root=$2
    case $suite in
    noble)
        ubuntu_keys
        # all of Ubuntu's suites are made by one script
        debootstrap --variant=minbase --components=main,universe \
            --keyring="$folder/ubuntu-archive-keyring.gpg" "$suite" "$root" \
            http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/gutsy
        ;;
    *) debootstrap --variant=minbase "$suite" "$root" "$mirror" ;;
    esac
)

# In a subshell, as the above: sid may be installed while noble is
install_suite() (
    suite=$1 root=$2
    # the packages come by apt: debootstrap cannot choose between packages that provide another
    bootstrap "$suite" "$root"
    chroot "$root" sh -c "apt-get -qq -o Acquire::Check-Valid-Until=false update &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $(echo $packages)" \
        >"$root/install.log"
    touch "$root/installed"
)

failed='' first=''
for suite in $suites; do
    root=$folder/$suite
    [ -e "$root/installed" ] || install_suite "$suite" "$root"
    [ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
    chmod 1777 "$root/tmp"
    rm -rf "$root/source" "$root/recordings"
    mkdir -p "$root/source" "$root/build" "$root/recordings"
    tar -C "$source" --exclude ./.git --exclude ./build -cf - . | tar -C "$root/source" -xf -
    for from in "$source/captures" $recordings; do
        cp -r "$from/." "$root/recordings"
    done
    version=$(chroot "$root" tshark -v 2>/dev/null | sed -n '1s/^[^0-9]*\([0-9]*\.[0-9]*\)\..*/\1/p')
    echo "== $suite: $(chroot "$root" tshark -v 2>/dev/null | head -1)"
    # warnings of compilers and headers to come are shown, and no reason not to test
    chroot "$root" sh -c 'cmake -G Ninja -S /source -B /build -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DRPCRDMA_WERROR=OFF -DBUILD_TESTING=OFF >/build/cmake.log &&
        cmake --build /build --target rpcrdma_plugin rpcrdma_command >/build/build.log' || {
        tail -30 "$root/build/build.log"
        exit 1
    }
    grep warning: "$root/build/build.log" || true
    for test in "$source"/tests/plugin/*_test.py; do
        name=$(basename "$test" _test.py)
        case " ${RPCRDMA_TESTS:-$name} " in
        *" $name "*) ;;
        *) continue ;;
        esac
        captures=/source/captures
        case " $whole " in
        *" $name "*) captures=/recordings ;;
        esac
        set --
        if [ "$name" = install ]; then
            folder_of_plugins=$(chroot "$root" pkg-config --variable=plugindir wireshark)
            # with libibverbs there is an extcap, too; a stand-in for a device is part of the tests' build
            extcaps=
            grep -rqs rpcrdma-extcap "$root/build" --include=*install.cmake &&
                extcaps=$(sed -n 's/^RPCRDMA_WIRESHARK_EXTCAP_DIR:PATH=//p' "$root/build/CMakeCache.txt")
            set -- cmake /build RelWithDebInfo "$folder_of_plugins" /usr/share/wireshark "$extcaps" "" /usr/local/bin
        fi
        begun=$(date +%s)
        echo "-- $suite $name $(ls -d "$root$captures"/*/capture.pcap | wc -l) recordings"
        chroot "$root" env LC_ALL=C.UTF-8 python3 "/source/tests/plugin/${name}_test.py" \
            /usr/bin/tshark /build/plugin/rpcrdma.so "$version" /build/cli/rpcrdma "$captures" "$@" ||
            failed="$failed $suite/$name"
        echo "$(($(date +%s) - begun)) s"
    done
    echo "-- $suite rows $(ls -d "$root"/recordings/*/capture.pcap | wc -l) recordings"
    rm -rf "$root/rows" "$root/rows-of-first"
    [ -z "$first" ] || cp -r "$folder/$first/rows" "$root/rows-of-first"
    chroot "$root" env LC_ALL=C.UTF-8 python3 /source/tests/plugin/rows.py \
        /usr/bin/tshark /build/plugin/rpcrdma.so "$version" /build/cli/rpcrdma /recordings /rows \
        ${first:+/rows-of-first} || failed="$failed $suite/rows"
    first=${first:-$suite}
done
[ -z "$failed" ] || {
    echo "failed:$failed" >&2
    exit 1
}
