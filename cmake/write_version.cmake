# Script: writes version.h from version.h.in, and version.h.d with the files whose change makes it stale.
# Called by FairleadVersion.cmake with GIT (may be empty), SOURCE_DIR, VERSION and OUTPUT.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/ask_git.cmake)

set(FAIRLEAD_VERSION ${VERSION})
set(head_files)
is_git_top(is_top)
if(is_top)
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
