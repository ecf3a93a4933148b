# SPDX-License-Identifier: BSD-2-Clause
# What every target of the project is compiled with.

add_library(rpcrdma_options INTERFACE)
target_compile_options(rpcrdma_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  $<$<BOOL:${RPCRDMA_WERROR}>:-Werror>)
if(RPCRDMA_SANITIZE)
  target_compile_options(rpcrdma_options INTERFACE -fsanitize=${RPCRDMA_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rpcrdma_options INTERFACE -fsanitize=${RPCRDMA_SANITIZE})
endif()
if(RPCRDMA_COVERAGE)
  target_compile_options(rpcrdma_options INTERFACE --coverage -O0)
  target_link_options(rpcrdma_options INTERFACE --coverage)
endif()
if(RPCRDMA_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "RPCRDMA_FUZZ needs clang: cmake --preset fuzz")
  endif()
  target_compile_options(rpcrdma_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
