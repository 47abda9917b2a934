# Script: writes version.h from version.h.in, and version.h.d with the files whose change makes it stale.
# Called by FairleadVersion.cmake with GIT (may be empty), SOURCE_DIR, VERSION and OUTPUT.
cmake_minimum_required(VERSION 3.25)

# ask_git(VARIABLE ARGS…): git's answer, or "" where git or the repository is missing. safe.directory: the build may run
# as root in a user's checkout.
function(ask_git variable)
  set(answer)
  if(GIT)
    execute_process(COMMAND ${GIT} -c safe.directory=* ${ARGN} WORKING_DIRECTORY ${SOURCE_DIR}
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

set(FAIRLEAD_VERSION ${VERSION})
set(head_files)
# A release archive may lie inside somebody else's repository, whose commits do not name it.
ask_git(top_folder rev-parse --show-toplevel)
file(REAL_PATH ${SOURCE_DIR} source_folder)
if(top_folder STREQUAL source_folder)
  ask_git(commit rev-parse --short=7 --verify --quiet HEAD)
  if(commit)
    string(APPEND FAIRLEAD_VERSION "+g${commit}")
  endif()
  # HEAD itself is written by a checkout, its log by commit, merge and reset too.
  foreach(name IN ITEMS HEAD logs/HEAD)
    ask_git(file rev-parse --git-path ${name})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${SOURCE_DIR})
    if(EXISTS ${file})
      string(REPLACE " " "\\ " file "${file}")
      string(APPEND head_files " ${file}")
    endif()
  endforeach()
endif()

# An unchanged header is left alone, so that nothing is compiled again when HEAD moves to the same commit.
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${OUTPUT} @ONLY)
file(WRITE ${OUTPUT}.d "${OUTPUT}:${head_files}\n")
