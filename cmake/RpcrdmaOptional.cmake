# SPDX-License-Identifier: BSD-2-Clause
# Optional parts, each switched by a cache variable RPCRDMA_<PART>:
#
#   AUTO  (default) built where what it needs is found, left out where it is not
#   ON    an error where it is not found
#   OFF   left out, and not looked for
#
# RPCRDMA_WITH_<PART> is what came of it. None is needed by the library.

# Sets `wanted` (what the user said, AUTO by default) for the caller.
function(rpcrdma_wanted part purpose)
  set(RPCRDMA_${part} AUTO CACHE STRING "${purpose}: AUTO, ON or OFF")
  set_property(CACHE RPCRDMA_${part} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${RPCRDMA_${part}}" wanted)
  if(NOT wanted STREQUAL "AUTO")
    if(wanted)
      set(wanted ON)
    else()
      set(wanted OFF)
    endif()
  endif()
  set(wanted ${wanted} PARENT_SCOPE)
endfunction()

# Says what became of a part, and sets RPCRDMA_WITH_<PART> in the caller.
macro(rpcrdma_decide part found purpose state)
  set(RPCRDMA_WITH_${part} OFF)
  if(wanted STREQUAL "OFF")
    add_feature_info(${part} RPCRDMA_WITH_${part} "${purpose} (switched off: RPCRDMA_${part})")
  else()
    if(${found})
      set(RPCRDMA_WITH_${part} ON)
    elseif(wanted STREQUAL "ON")
      message(FATAL_ERROR "RPCRDMA_${part} is ON, but ${state}")
    endif()
    add_feature_info(${part} RPCRDMA_WITH_${part} "${purpose} (${state})")
  endif()
endmacro()

# rpcrdma_optional(PART prefix module package purpose): a part that needs pkg-config's `module`, in
# Debian's `package`; its target is PkgConfig::prefix.
macro(rpcrdma_optional part prefix module package purpose)
  rpcrdma_wanted(${part} "${purpose}")
  set(state "${module} not found: package ${package}")
  if(NOT wanted STREQUAL "OFF")
    if(PkgConfig_FOUND)
      pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
    else()
      set(state "${module} not looked for: there is no pkg-config")
    endif()
    if(${prefix}_FOUND)
      set(state "${module} ${${prefix}_VERSION}")
    endif()
  endif()
  rpcrdma_decide(${part} ${prefix}_FOUND "${purpose}" "${state}")
endmacro()

rpcrdma_optional(COMMAND GLIB glib-2.0 libglib2.0-dev "the command rpcrdma")
rpcrdma_optional(ZLIB ZLIB_PC zlib zlib1g-dev "capture files compressed by gzip")
rpcrdma_optional(ZSTD ZSTD_PC libzstd libzstd-dev "capture files compressed by zstd")
rpcrdma_optional(XZ XZ_PC liblzma liblzma-dev "capture files compressed by xz")
rpcrdma_optional(LZ4 LZ4_PC liblz4 liblz4-dev "capture files compressed by lz4")
rpcrdma_wanted(BZIP2 "capture files compressed by bzip2") # Debian 12's has no file for pkg-config
set(state "bzlib.h not found: package libbz2-dev")
if(NOT wanted STREQUAL "OFF")
  find_package(BZip2 QUIET)
  if(BZIP2_FOUND)
    set(state "libbz2 ${BZIP2_VERSION_STRING}")
  endif()
endif()
rpcrdma_decide(BZIP2 BZIP2_FOUND "capture files compressed by bzip2" "${state}")
rpcrdma_optional(SQLITE SQLITE sqlite3 libsqlite3-dev "export to SQLite databases")
rpcrdma_optional(PCAP PCAP libpcap libpcap-dev "capture from network interfaces, and filters")
rpcrdma_optional(VERBS VERBS libibverbs libibverbs-dev "capture from RDMA devices")

# The sandbox is two: which files (Landlock: a header of the kernel's), which system calls (libseccomp).
include(CheckIncludeFile)
check_include_file(linux/landlock.h HAVE_LANDLOCK_H)
rpcrdma_wanted(SANDBOX "fewer rights while a capture is read")
set(possible ${HAVE_LANDLOCK_H})
set(state "Landlock")
if(NOT RPCRDMA_WITH_COMMAND)
  set(possible OFF)
  set(state "a part of the command")
elseif(RPCRDMA_SANITIZE OR RPCRDMA_COVERAGE)
  set(possible OFF)
  set(state "not with sanitizers or coverage, which open files of their own")
elseif(NOT HAVE_LANDLOCK_H)
  set(state "linux/landlock.h not found: package linux-libc-dev, since Linux 5.13")
endif()
rpcrdma_decide(SANDBOX possible "fewer rights while a capture is read" "${state}")
if(RPCRDMA_WITH_SANDBOX)
  rpcrdma_optional(SECCOMP SECCOMP libseccomp libseccomp-dev "fewer system calls while a capture is read")
endif()

# Wireshark brings a CMake package along.
rpcrdma_wanted(WIRESHARK "the Wireshark plugin")
if(NOT wanted STREQUAL "OFF")
  find_package(Wireshark CONFIG QUIET)
endif()
set(state "Wireshark not found: package wireshark-dev")
if(Wireshark_FOUND)
  set(state "Wireshark ${Wireshark_VERSION}")
endif()
rpcrdma_decide(WIRESHARK Wireshark_FOUND "the Wireshark plugin" "${state}")
