# One helper per kind of target, so that every module's CMakeLists.txt is a list of names and nothing else.
#
#   fairlead_library(NAME  SOURCES a.cc …  HEADERS a.h …  DEPS fairlead::base fmt::fmt …)   -> target fairlead::NAME
#     INCLUDE_ROOT DIR: where its headers are named from; default src/
#     SEPARATE b.cc …: further sources, compiled alone also where FAIRLEAD_UNITY is on (their names or system headers
#     exclude those of others)
#     COLD: it waits for people, files or other programs: compiled with FAIRLEAD_COLD_FLAGS
#   fairlead_test(NAME     SOURCES a_test.cc …  DEPS …)        one GoogleTest binary, its cases registered with CTest
#   fairlead_simgrid_test(NAME  …)                             the same, where SimGrid is (option FAIRLEAD_SIMGRID)
#   fairlead_bench(NAME    SOURCES a_bench.cc …  DEPS …)       one Google Benchmark binary (option FAIRLEAD_BENCH)
#   fairlead_fuzz(NAME     SOURCES a_fuzz.cc  DEPS …)          one libFuzzer binary (option FAIRLEAD_FUZZ)
#   fairlead_embed(OUTPUT_VARIABLE  FILES a.yaml …  BASE DIR  HEADER …  NAMESPACE …  TYPE …  FUNCTION …)
#     texts as constants: a source file for SOURCES of a library; cmake/embed_texts.cmake explains the arguments
#
# Tests are left out where FAIRLEAD_TESTS is off; benchmarks and fuzzers likewise, so callers need no if().

if(FAIRLEAD_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "FAIRLEAD_FUZZ needs Clang (found ${CMAKE_CXX_COMPILER_ID}): cmake --preset fuzz")
endif()

add_library(fairlead_compile_options INTERFACE)
target_include_directories(fairlead_compile_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(fairlead_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  $<$<BOOL:${FAIRLEAD_WERROR}>:-Werror>
  # Every object counts coverage for the fuzzer; its main() is linked into the fuzz targets only.
  $<$<BOOL:${FAIRLEAD_FUZZ}>:-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined>)
target_link_options(fairlead_compile_options INTERFACE
  $<$<BOOL:${FAIRLEAD_FUZZ}>:-fsanitize=address,undefined>)

# Sources that are compiled as one, and those of COLD libraries. More: less work for a build from scratch, and more after
# each change.
set(FAIRLEAD_UNITY_BATCH 8)
set(FAIRLEAD_COLD_UNITY_BATCH 12)

# The sources of a target in batches, where FAIRLEAD_UNITY is on.
function(fairlead_compile_together target batch)
  if(NOT FAIRLEAD_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  # GCC takes a source that is compiled with others for a header, whose types must not use anonymous namespaces;
  # and GCC 12, which inlines more there, sees members of other alternatives of a variant that are not set.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage -Wno-maybe-uninitialized>)
endfunction()

function(fairlead_library name)
  cmake_parse_arguments(ARG "COLD" "INCLUDE_ROOT" "SOURCES;HEADERS;SEPARATE;DEPS" ${ARGN})
  fairlead_check_arguments(fairlead_library ${name})
  if(NOT ARG_INCLUDE_ROOT)
    set(ARG_INCLUDE_ROOT ${PROJECT_SOURCE_DIR}/src)
  endif()
  if(ARG_SOURCES)
    add_library(fairlead_${name} STATIC ${ARG_SOURCES} ${ARG_SEPARATE})
    set(scope PUBLIC)
    set(batch ${FAIRLEAD_UNITY_BATCH})
    if(ARG_COLD)
      set(batch ${FAIRLEAD_COLD_UNITY_BATCH})
      separate_arguments(flags UNIX_COMMAND "${FAIRLEAD_COLD_FLAGS}")
      target_compile_options(fairlead_${name} PRIVATE ${flags})
    endif()
    fairlead_compile_together(fairlead_${name} ${batch})
    set_source_files_properties(${ARG_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    add_library(fairlead_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(fairlead_${name} ${scope} fairlead_compile_options ${ARG_DEPS})
  list(TRANSFORM ARG_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  # FILE_SET HEADERS gives the target all_verify_interface_header_sets, which compiles each header alone.
  target_sources(fairlead_${name} ${scope} FILE_SET HEADERS BASE_DIRS ${ARG_INCLUDE_ROOT} FILES ${ARG_HEADERS})
  add_library(fairlead::${name} ALIAS fairlead_${name})
endfunction()

function(fairlead_test name)
  if(NOT FAIRLEAD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  fairlead_check_arguments(fairlead_test ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fairlead_compile_options ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FAIRLEAD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  fairlead_compile_together(${name} ${FAIRLEAD_UNITY_BATCH})
  # Most of what a test compiles is the macros of GoogleTest, which no one debugs or waits for.
  separate_arguments(flags UNIX_COMMAND "${FAIRLEAD_TEST_FLAGS}")
  target_compile_options(${name} PRIVATE ${flags})
  # A loaded machine can take long to start a sanitized binary; the default of 5 s was made for an idle one.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()

function(fairlead_simgrid_test name)
  if(NOT FAIRLEAD_SIMGRID)
    return()
  endif()
  find_library(SIMGRID_LIBRARY simgrid)
  mark_as_advanced(SIMGRID_LIBRARY)
  if(SIMGRID_LIBRARY)
    fairlead_test(${name} ${ARGN} ${SIMGRID_LIBRARY})  # DEPS comes last
  endif()
endfunction()

# Sets OUTPUT_VARIABLE to the libraries of ns-3 that packets over TCP need, or to nothing where it is not installed.
function(fairlead_find_ns3 output_variable)
  set(libraries "")
  if(FAIRLEAD_NS3)
    foreach(module IN ITEMS internet point-to-point traffic-control network core)
      find_library(NS3_${module}_LIBRARY ns3-${module})
      mark_as_advanced(NS3_${module}_LIBRARY)
      list(APPEND libraries ${NS3_${module}_LIBRARY})
    endforeach()
    if(libraries MATCHES "NOTFOUND")
      set(libraries "")
    endif()
  endif()
  set(${output_variable} ${libraries} PARENT_SCOPE)
endfunction()

function(fairlead_bench name)
  if(NOT FAIRLEAD_BENCH)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  fairlead_check_arguments(fairlead_bench ${name})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fairlead_compile_options ${ARG_DEPS} benchmark::benchmark benchmark::benchmark_main)
  target_compile_definitions(${name} PRIVATE FAIRLEAD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

function(fairlead_fuzz name)
  if(NOT FAIRLEAD_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  fairlead_check_arguments(fairlead_fuzz ${name})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fairlead_compile_options ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# A misspelt keyword would otherwise be taken for one more source file, or dropped.
macro(fairlead_check_arguments helper name)
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${helper}(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(fairlead_embed output_variable)
  cmake_parse_arguments(ARG "" "BASE;HEADER;NAMESPACE;TYPE;FUNCTION" "FILES" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${output_variable}.cc)
  string(REPLACE ";" "," file_list "${ARG_FILES}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFILES=${file_list} -DBASE=${ARG_BASE} -DHEADER=${ARG_HEADER}
            -DNAMESPACE=${ARG_NAMESPACE} -DTYPE=${ARG_TYPE} -DFUNCTION=${ARG_FUNCTION} -P ${script}
    DEPENDS ${ARG_FILES} ${script}
    COMMENT "Embedding ${output_variable}" VERBATIM)
  # All of them call their constants alike.
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${output_variable} ${output} PARENT_SCOPE)
endfunction()
