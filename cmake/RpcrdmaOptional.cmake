# SPDX-License-Identifier: BSD-2-Clause
# Optional parts: built where their library is found, left out where it is not. None is needed to read
# a capture file. A part that has no code yet says so in the summary, whatever was found.

# rpcrdma_optional(part folder module purpose): looks for pkg-config's `module` and, once the part has a
# folder in the tree, sets RPCRDMA_WITH_<PART>.
function(rpcrdma_optional part folder module purpose)
  string(TOUPPER ${part} upper)
  set(enabled OFF)
  if(PkgConfig_FOUND)
    pkg_check_modules(${upper} QUIET IMPORTED_TARGET ${module})
  endif()
  if(${upper}_FOUND)
    set(state "${module} ${${upper}_VERSION} found")
  else()
    set(state "${module} not found")
  endif()
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    string(APPEND state ", not written yet")
  elseif(${upper}_FOUND)
    set(enabled ON)
  endif()
  set(RPCRDMA_WITH_${upper} ${enabled} PARENT_SCOPE)
  add_feature_info(${part} ${enabled} "${purpose} (${state})")
endfunction()

rpcrdma_optional(pcap cli/source/live libpcap "live capture and filters from a network interface")
rpcrdma_optional(verbs cli/source/verbs libibverbs "the ibverbs sniffer")

# Wireshark brings a CMake package along.
find_package(Wireshark CONFIG QUIET)
if(Wireshark_FOUND)
  set(RPCRDMA_WITH_WIRESHARK ON)
  set(state "Wireshark ${Wireshark_VERSION} found")
else()
  set(RPCRDMA_WITH_WIRESHARK OFF)
  set(state "wireshark-dev not found")
endif()
add_feature_info(wireshark RPCRDMA_WITH_WIRESHARK "the Wireshark plugin (${state})")
