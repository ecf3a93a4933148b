# SPDX-License-Identifier: BSD-2-Clause
# Optimising for what programs were seen to do (gcc). A build with RPCRDMA_COUNT makes programs that count
# how often each piece of code runs, and add that to RPCRDMA_PROFILE, a folder, when they end; one
# without it is optimised for what the folder says. scripts/build-profiled makes both, one after the other.

set(RPCRDMA_PROFILE "" CACHE PATH "A folder of counts to optimise for (gcc; scripts/build-profiled)")
option(RPCRDMA_COUNT "Build programs that count what they do, into RPCRDMA_PROFILE" OFF)

if(RPCRDMA_COUNT AND NOT RPCRDMA_PROFILE)
  message(FATAL_ERROR "RPCRDMA_COUNT needs RPCRDMA_PROFILE, the folder that the counts go to")
endif()
add_library(rpcrdma_profile INTERFACE) # of what is installed, and what that is made of: RpcrdmaHarden
if(RPCRDMA_PROFILE)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "RPCRDMA_PROFILE needs gcc")
  endif()
  # Counts have the names of objects, without the folder of the build: another build finds them.
  set(profile -fprofile-prefix-path=${PROJECT_BINARY_DIR})
  if(RPCRDMA_COUNT)
    list(APPEND profile -fprofile-generate=${RPCRDMA_PROFILE} -fprofile-update=single)
    target_link_options(rpcrdma_options INTERFACE -fprofile-generate) # whatever is linked with it
  else()
    # Code that no capture of the training reaches is compiled as without counts, not for size:
    # somebody's capture reaches it. Where gcc sees other branches than it counted in, which happens in a
    # function or two, it says so and compiles as without counts.
    list(APPEND profile -fprofile-use=${RPCRDMA_PROFILE} -fprofile-partial-training -Wno-missing-profile
      -Wno-error=coverage-mismatch)
  endif()
  target_compile_options(rpcrdma_profile INTERFACE ${profile})
endif()
