# One helper per kind of target, so that every module's CMakeLists.txt is a list of names and nothing else.
#
#   fairlead_library(NAME  SOURCES a.cc …  HEADERS a.h …  DEPS fairlead::base fmt::fmt …)   -> target fairlead::NAME
#   fairlead_test(NAME     SOURCES a_test.cc …  DEPS …)        one GoogleTest binary, its cases registered with CTest
#   fairlead_bench(NAME    SOURCES a_bench.cc …  DEPS …)       one Google Benchmark binary (option FAIRLEAD_BENCH)
#   fairlead_fuzz(NAME     SOURCES a_fuzz.cc  DEPS …)          one libFuzzer binary (option FAIRLEAD_FUZZ)

add_library(fairlead_compile_options INTERFACE)
target_include_directories(fairlead_compile_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(fairlead_compile_options INTERFACE FMT_ENFORCE_COMPILE_STRING=0)
target_compile_options(fairlead_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  $<$<BOOL:${FAIRLEAD_WERROR}>:-Werror>
  $<$<BOOL:${FAIRLEAD_FUZZ}>:-fsanitize=fuzzer-no-link,address,undefined>)
target_link_options(fairlead_compile_options INTERFACE
  $<$<BOOL:${FAIRLEAD_FUZZ}>:-fsanitize=address,undefined>)

function(fairlead_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(fairlead_${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(fairlead_${name} PUBLIC fairlead_compile_options ${ARG_DEPS})
  else()
    add_library(fairlead_${name} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(fairlead_${name} INTERFACE fairlead_compile_options ${ARG_DEPS})
  endif()
  list(TRANSFORM ARG_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  # FILE_SET HEADERS gives the target all_verify_interface_header_sets, which compiles each header alone.
  target_sources(fairlead_${name} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${ARG_HEADERS})
  add_library(fairlead::${name} ALIAS fairlead_${name})
endfunction()

function(fairlead_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fairlead_compile_options ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FAIRLEAD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()

function(fairlead_bench name)
  if(NOT FAIRLEAD_BENCH)
    return()
  endif()
  find_package(benchmark REQUIRED)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fairlead_compile_options ${ARG_DEPS} benchmark::benchmark benchmark::benchmark_main)
endfunction()

function(fairlead_fuzz name)
  if(NOT FAIRLEAD_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fairlead_compile_options ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
endfunction()
