#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# steps.sh WHO: what fresh.sh runs inside of a new system: as root, as an ordinary user who may sudo, or by
# hand: gcc and cmake alone first, then what docs/building.md prints. Prints "FRESH step result seconds".
# A step that fails is told, and the others follow where they can. RPCRDMA_STEPS names fewer: demo readme
# check install uninstall package rpm; bare hand. RPCRDMA_TESTS leaves tests out of check and hand: those
# whose names do not match.
set -eu
who=$1
case $who in
hand) all="bare hand" ;;
*) all="demo readme check install uninstall package rpm" ;;
esac
steps=${RPCRDMA_STEPS:-$all}

case $who in
root | hand)
    home=/root
    sudo=
    chmod 700 /root
    as() { sh -euc "$1"; }
    ;;
user)
    home=/home/somebody
    sudo=sudo
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install sudo >/dev/null
    useradd --create-home --shell /bin/bash somebody
    chmod 700 "$home"
    echo 'somebody ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/somebody
    as() { su -l somebody -c "set -eu; $1"; }
    ;;
esac
tree=$home/rpcrdma
failed=

step() {
    name=$1 command=$2
    echo "== $name"
    begun=$(date +%s)
    if as "cd $tree; $command"; then
        echo "FRESH $name ok $(($(date +%s) - begun)) $(cut -d ' ' -f 2 /proc/loadavg)"
    else
        echo "FRESH $name FAILED $(($(date +%s) - begun)) $(cut -d ' ' -f 2 /proc/loadavg)"
        failed="$failed $name"
    fi
}

# A command of README.md, as printed there.
printed() {
    sed -n "s|^    \(scripts/$1\) *\(#.*\)\?$|\1|p" "$tree/README.md" | head -n 1
}

# README's examples, with PATH as scripts/demo told to set it.
readme() {
    # shellcheck disable=SC2016
    printf '%s\n' 'eval "$(sed -n "s/^    \(export PATH=.*\)/\1/p" build/demo.out)"
        sed -n "s/^    \\\$ \(rpcrdma .*\)/\1/p" README.md >build/commands
        [ -s build/commands ]
        while read -r command; do
            echo "+ $command"
            status=0
            sh -c "$command" </dev/null >/dev/null || status=$?
            [ "$status" -le 1 ] || exit 1
        done <build/commands'
}

installed() {
    # shellcheck disable=SC2016
    printf '%s\n' 'rpcrdma --version
        man_page=$(find /usr -name "rpcrdma.1*"); [ -n "$man_page" ]
        printf "#include <rpcrdma/finding.h>\nint main(void) { return !rpcrdma_rule(RPCRDMA_RULE_TRUNCATED); }\n" >build/user.c
        gcc build/user.c $(pkg-config --cflags --libs rpcrdma) -o build/user
        ./build/user'
}

plugin_loaded="tshark -G plugins 2>/dev/null | grep '^rpcrdma.so'"

# What docs/building.md prints under "By hand".
# shellcheck disable=SC2016
by_hand() {
    sed -n '/By hand:/,/^The library needs/s/^    \([^#]*[^# ]\) *\(#.*\)\?$/\1/p' "$tree/docs/building.md" |
        sed "${RPCRDMA_TESTS:+/^ctest/s/\$/ -R '$RPCRDMA_TESTS'/}"
}

as "git config --global --add safe.directory '*'; git clone -q /srv/fresh/rpcrdma.git $tree"
for one in $steps; do
    case $one in
    demo) step demo "$(printed demo) >build.out; mkdir -p build; mv build.out build/demo.out; tail -n 20 build/demo.out" ;;
    readme) step readme "$(readme)" ;;
    check)
        [ -z "${RPCRDMA_TESTS:-}" ] ||
            (cd "$tree" && sed -i "s/ --no-tests=error/& -R '$RPCRDMA_TESTS'/" scripts/check)
        step check "$(printed check)"
        ;;
    bare)
        # no pkg-config, Python or CMocka: the library
        DEBIAN_FRONTEND=noninteractive apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y install gcc cmake >/dev/null
        step bare "cmake -S . -B bare && cmake --build bare
            if command -v pkg-config || command -v python3; then false; fi
            [ -s bare/codec/librpcrdma.so ]
            cmake --install bare --prefix \$PWD/bare/there && [ -s bare/there/include/rpcrdma/net/net.h ]"
        ;;
    hand)
        step hand "$(by_hand)
            ! find /usr/local /usr/lib /usr/share -name '*rpcrdma*' -not -path '*/doc/*' | grep ."
        ;;
    install)
        # scripts/check builds the plugin, too; what judges must not notice that it is there
        step install "$sudo cmake --install build/demo; $(installed)
            if [ -d build/release ]; then
                $sudo cmake --install build/release >/dev/null
                $plugin_loaded
                ctest --test-dir build/release -R 'truth.v2|net.compare|plugin.judge'
            fi"
        ;;
    uninstall)
        step uninstall "for build in build/demo build/release; do
                [ ! -d \$build ] || $sudo cmake --build \$build --target uninstall >/dev/null
            done
            ! find /usr/local /usr/lib /usr/share -name '*rpcrdma*' -not -path '*/doc/*' | grep ."
        ;;
    package)
        step package "mkdir -p build
            DEB_BUILD_OPTIONS=nocheck scripts/package >build/package.log 2>&1 || { tail -n 60 build/package.log; false; }
            $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install ./build/deb/*.deb tshark
            $(installed)
            $plugin_loaded
            $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install autopkgtest
            # the tests are root's: what is written is not to be the user's who called sudo
            $sudo env -u SUDO_UID -u SUDO_GID -u SUDO_USER autopkgtest --no-built-binaries . -- null
            echo 'rpcrdma rpcrdma/capture boolean true' | $sudo debconf-set-selections
            $sudo env DEBIAN_FRONTEND=noninteractive dpkg-reconfigure rpcrdma
            ls -l /usr/libexec/rpcrdma/rpcrdma-capture
            $sudo getcap /usr/libexec/rpcrdma/rpcrdma-capture | grep cap_net_raw
            $sudo useradd --create-home --groups wireshark member
            $sudo useradd --create-home outsider
            $sudo su -l member -c 'rpcrdma capture -i lo -a duration:1 -w capture.pcapng && [ -s capture.pcapng ]'
            if $sudo su -l outsider -c 'rpcrdma capture -i lo -a duration:1 -w capture.pcapng' 2>build/refused; then false; fi
            grep 'member of the group wireshark' build/refused
            $sudo apt-get -qq -y purge rpcrdma librpcrdma1 librpcrdma-dev wireshark-plugin-rpcrdma
            ! find /usr /etc /var/lib/dpkg/info -name '*rpcrdma*' -not -path '/usr/include/wireshark/*' | grep ."
        ;;
    rpm) step rpm "mkdir -p build; scripts/package rpm >build/rpm.log 2>&1 || { tail -n 60 build/rpm.log; false; }; tail -n 12 build/rpm.log" ;;
    esac
done
[ -z "$failed" ]
