# SPDX-License-Identifier: BSD-2-Clause
# What is installed reads what anybody may have sent: a mistake in it is to end the program, not to let
# somebody else go on with it. Every build type has this but the sanitizers', which look for the same
# and more, and the measuring of coverage. tests/hardening checks what is installed.

set(RPCRDMA_HARDENED OFF)
if(NOT RPCRDMA_SANITIZE AND NOT RPCRDMA_COVERAGE AND NOT RPCRDMA_FUZZ)
  set(RPCRDMA_HARDENED ON)
endif()

add_library(rpcrdma_hardening INTERFACE)
if(RPCRDMA_HARDENED)
  include(CheckCCompilerFlag)
  include(CheckLinkerFlag)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C)
  set(flags -fstack-protector-strong -fstack-clash-protection)
  # clang takes what the processor has not, and warns of it for each file
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|i[3-6]86)$")
    list(APPEND flags -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND flags -mbranch-protection=standard)
  endif()
  foreach(flag IN LISTS flags)
    string(MAKE_C_IDENTIFIER has${flag} known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(rpcrdma_hardening INTERFACE ${flag})
    endif()
  endforeach()
  # Not -z ibt and -z shstk: they mark a binary although objects in it are not marked, and Debian 12's
  # Scrt1.o and crti.o are not: _start and _init begin without endbr64, and a kernel that trusts the mark
  # would end the program there. Where the C library's are marked, the linker marks the binary by itself.
  foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    string(MAKE_C_IDENTIFIER has${flag} known)
    check_linker_flag(C ${flag} ${known})
    if(${known})
      target_link_options(rpcrdma_hardening INTERFACE ${flag})
    endif()
  endforeach()
  # The C library's checks of sizes take an optimising compiler. Level 3 knows sizes that are
  # computed, too; older C libraries take it for 2. A packager's own level gives way.
  target_compile_options(rpcrdma_hardening INTERFACE
    $<$<CONFIG:Debug>:-Og> -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()

# rpcrdma_harden(TARGET...): what is installed, and what it is made of.
function(rpcrdma_harden)
  foreach(target ${ARGV})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:rpcrdma_hardening> $<BUILD_INTERFACE:rpcrdma_profile>)
  endforeach()
endfunction()
