# SPDX-License-Identifier: BSD-2-Clause
# What every target of the project is compiled with.

add_library(rpcrdma_options INTERFACE)
target_compile_options(rpcrdma_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  $<$<BOOL:${RPCRDMA_WERROR}>:-Werror>)
# gcc clears a struct of some 200 bytes with an instruction that takes 30 cycles to start, or eight
# bytes at a time, where sixteen are as quick; and nobody
# replaces one function of the library by another of the same name.
include(CheckCCompilerFlag)
set(strategy vector_loop:256:noalign,libcall:-1:noalign)
foreach(flag -fno-semantic-interposition -mmemset-strategy=${strategy} -mmemcpy-strategy=${strategy})
  string(MAKE_C_IDENTIFIER has${flag} known)
  check_c_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(rpcrdma_options INTERFACE ${flag})
  endif()
endforeach()
target_compile_options(rpcrdma_options INTERFACE $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
target_compile_definitions(rpcrdma_options INTERFACE
  $<$<CONFIG:Debug>:RPCRDMA_COUNT_STEPS>) # codec/base/step.h

# rpcrdma_fast(TARGET...): what the command is made of, optimised across files. The objects have
# ordinary code, too, which is what tests are linked from: optimising each of those takes minutes.
if(RPCRDMA_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU") # clang's objects would have no other code
  include(CheckIPOSupported)
  check_ipo_supported(RESULT RPCRDMA_HAS_LTO LANGUAGES C)
  if(RPCRDMA_HAS_LTO)
    set(CMAKE_C_COMPILE_OPTIONS_IPO -flto=auto -ffat-lto-objects -Wno-psabi) # between our own only
    target_link_options(rpcrdma_options INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:INTERPROCEDURAL_OPTIMIZATION>>>:-fno-lto>)
  endif()
endif()
function(rpcrdma_fast)
  if(RPCRDMA_HAS_LTO)
    set_target_properties(${ARGV} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
endfunction()
if(RPCRDMA_SANITIZE)
  target_compile_options(rpcrdma_options INTERFACE -fsanitize=${RPCRDMA_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rpcrdma_options INTERFACE -fsanitize=${RPCRDMA_SANITIZE})
  # Tests start programs thousands of times. UBSan's places are pointers, 290,000 in the command, which
  # the loader would relocate in each start; and LSan looks through its shared library's 6 MB at each end.
  include(CheckLinkerFlag)
  foreach(flag -no-pie -static-libubsan)
    string(MAKE_C_IDENTIFIER has_sanitized${flag} known)
    check_linker_flag(C "-fsanitize=${RPCRDMA_SANITIZE};${flag}" ${known})
    if(${known})
      target_link_options(rpcrdma_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${flag}>)
    endif()
  endforeach()
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
  target_compile_definitions(rpcrdma_options INTERFACE RPCRDMA_FUZZ)
  if(NOT RPCRDMA_REAL_BOUNDS)
    target_compile_definitions(rpcrdma_options INTERFACE RPCRDMA_SMALL_BOUNDS) # codec/bound.h
  endif()
endif()
