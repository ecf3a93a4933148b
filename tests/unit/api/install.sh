#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# install.sh CMAKE BUILD SOURCE CC PREFIX [SANITIZERS]: installs, and uses what was installed as
# another project would: each public header compiled alone, a program built with what pkg-config says.
set -eu
cmake=$1 build=$2 source=$3 cc=$4 prefix=$5 sanitize=${6:-}

rm -rf "$prefix"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
include=$prefix/include/rpcrdma

# A header that exports functions is public: it must have been installed.
for header in $(cd "$source/codec" && grep -rl '^RPCRDMA_API' --include='*.h' .); do
    [ -f "$include/$header" ] || {
        echo "codec/$header exports functions: name it in codec/CMakeLists.txt's HEADERS" >&2
        exit 1
    }
done
for header in $(cd "$include" && find . -name '*.h'); do
    echo "#include \"$header\"" | "$cc" -std=c11 -Wall -Wextra -Werror -fsyntax-only \
        -I "$include" -x c -
done

pc=$(find "$prefix" -name rpcrdma.pc)
# The prefix moved since configuring, as it does for a packager: --define-prefix.
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs rpcrdma)
cat >"$prefix/user.c" <<'END'
#include <finding.h>
#include <stdio.h>

int main(void)
{
    return puts(rpcrdma_rule(RPCRDMA_RULE_TRUNCATED)->name) < 0;
}
END
# shellcheck disable=SC2086
"$cc" -std=c11 ${sanitize:+-fsanitize=$sanitize} "$prefix/user.c" $flags -o "$prefix/user"
libdir=$(pkg-config --define-variable=prefix="$prefix" --variable=libdir rpcrdma)
[ "$(LD_LIBRARY_PATH=$libdir "$prefix/user")" = truncated ]
