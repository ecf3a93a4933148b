#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# install.sh CMAKE BUILD SOURCE CC CXX NM PREFIX [SANITIZERS]: installs, and uses what was installed as
# another project would: each public header compiled alone as C11 and C++17, what they declare compared
# with what the library exports, programs built with what pkg-config says, shared and static.
# CXX empty: there is no compiler for C++, and that is left out.
set -eu
cmake=$1 build=$2 source=$3 cc=$4 cxx=$5 nm=$6 prefix=$7 sanitize=${8:-}
warnings="-Wall -Wextra -Wpedantic -Werror"

rm -rf "$prefix"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
include=$prefix/include

# A header that exports functions is public: it must have been installed.
for header in $(cd "$source/codec" && grep -rl '^RPCRDMA_API' --include='*.h' .); do
    [ -f "$include/rpcrdma/$header" ] || {
        echo "codec/$header exports functions: name it in codec/CMakeLists.txt's RPCRDMA_HEADERS" >&2
        exit 1
    }
done
for header in $(cd "$include" && find rpcrdma -name '*.h'); do
    # shellcheck disable=SC2086
    printf '#include <%s>\nextern int nothing;\n' "$header" |
        "$cc" -std=c11 $warnings -fsyntax-only -I "$include" -x c -
    # shellcheck disable=SC2086
    [ -z "$cxx" ] || printf '#include <%s>\n' "$header" |
        "$cxx" -std=c++17 $warnings -fsyntax-only -I "$include" -x c++ -
    grep -q "\"${header#rpcrdma/}\"" "$include/rpcrdma/rpcrdma.h" || [ "$header" = rpcrdma/rpcrdma.h ] || {
        echo "$header is not in rpcrdma.h" >&2
        exit 1
    }
done

# What is declared is exported, and the other way round.
library=$(find "$prefix" -name librpcrdma.so)
printf '#include <rpcrdma/rpcrdma.h>\n' | "$cc" -std=c11 -E -P -I "$include" -x c - | tr '\n' ' ' >"$prefix/all"
# without RPCRDMA_API a program that calls it does not link
type='(const |extern |unsigned )*((struct|enum) [a-z0-9_]+|void|_Bool|bool|char|int|double|size_t|u?int[0-9]+_t)'
if sed 's/[;{}]/&\n/g' "$prefix/all" | grep -E "^ *$type( const)? \\**rpcrdma_[a-z0-9_]+(\(|\[)" | grep ';' >&2; then
    echo "a public header declares what the library does not export: put it into a private one" >&2
    exit 1
fi
grep -o '__attribute__((visibility("default")))[^;]*' "$prefix/all" |
    sed 's/__attribute__((visibility("default")))//; s/(.*//; s/.*[ *]\(rpcrdma_[a-z0-9_]*\) *$/\1/' |
    sort >"$prefix/declared"
"$nm" -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' |
    grep -v '^RPCRDMA_[0-9]*$' | sort >"$prefix/exported"
[ "$(wc -l <"$prefix/declared")" -gt 50 ]
diff "$prefix/declared" "$prefix/exported" >&2 || {
    echo "< declared in a public header, > exported" >&2
    exit 1
}

pc=$(find "$prefix" -name rpcrdma.pc)
# The prefix is another one than configuring had: rpcrdma.pc says where it is itself.
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
compile=$(pkg-config --cflags rpcrdma)
link=$(pkg-config --libs rpcrdma)
libdir=$(pkg-config --variable=libdir rpcrdma)
cat >"$prefix/user.c" <<'END'
#include <rpcrdma/finding.h>
#include <rpcrdma/version.h>
#include <stdio.h>

int main(void)
{
    return printf("%s %s", rpcrdma_rule(RPCRDMA_RULE_TRUNCATED)->name, rpcrdma_version()) < 0;
}
END
version=$(pkg-config --modversion rpcrdma)
# shellcheck disable=SC2086
"$cc" -std=c11 ${sanitize:+-fsanitize=$sanitize} $compile "$prefix/user.c" $link -o "$prefix/user"
[ "$(LD_LIBRARY_PATH=$libdir "$prefix/user")" = "truncated $version" ]
# shellcheck disable=SC2086
"$cc" -std=c11 ${sanitize:+-fsanitize=$sanitize} $compile "$prefix/user.c" "$libdir/librpcrdma.a" -o "$prefix/user"
[ "$("$prefix/user")" = "truncated $version" ]
# Nor does the archive have other names, which a program may have, too.
if [ -z "$sanitize" ] && ! "$cc" --version | grep -q clang; then
    "$nm" -g --defined-only "$libdir/librpcrdma.a" | awk 'NF == 3 { print $3 }' | sort >"$prefix/archived"
    diff "$prefix/declared" "$prefix/archived" >&2
fi
