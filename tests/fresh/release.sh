#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# release.sh SOURCE FOLDER [TESTS]: makes the release's tarball in FOLDER of what SOURCE has committed,
# unpacks it where no git is found, builds it, runs the tests (TESTS: those whose names match), builds the command
# by scripts/build-profiled, too, and installs the first to a folder. The versions in CMakeLists.txt, CHANGELOG.md
# and of the packages must be one.
set -eu
source=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
folder=$(cd "$2" && pwd)
tests=${3:-.}
tarball=$("$source/scripts/tarball" "$folder")
version=${tarball##*/rpcrdma-}
version=${version%.tar.xz}

outside=$(mktemp -d "${TMPDIR:-/tmp}/rpcrdma-release-XXXXXX")
trap 'rm -rf "$outside"' EXIT
tar -C "$outside" -xf "$tarball"
cd "$outside/rpcrdma-$version"
if git rev-parse --git-dir >/dev/null 2>&1; then
    echo "$0: $outside is within a git tree: choose another TMPDIR" >&2
    exit 1
fi
grep -q "^## \[$version\]" CHANGELOG.md || {
    echo "$0: CHANGELOG.md has no heading for $version" >&2
    exit 1
}
git -C "$source" show HEAD:debian/changelog | sed -n 1p | grep -q "($version-" || {
    echo "$0: debian/changelog is not at $version" >&2
    exit 1
}
grep -q "^Version: *$version$" packaging/rpcrdma.spec || {
    echo "$0: packaging/rpcrdma.spec is not at $version" >&2
    exit 1
}
cmake -S . -B b -G Ninja -DRPCRDMA_WERROR=ON
cmake --build b
ctest --test-dir b --parallel "$(nproc)" --output-on-failure --no-tests=error -R "$tests"
scripts/build-profiled profiled
cmake --install b --prefix "$outside/installed" >/dev/null
[ "$("$outside/installed/bin/rpcrdma" --version)" = "rpcrdma $version" ]
sha256sum "$tarball"
