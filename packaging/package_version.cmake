# package_version(VARIABLE): the version of the Debian packages, from project(VERSION) and git, so that it is defined once.
# Needs GIT (may be empty), SOURCE_DIR and VERSION.
#
#   0.1.0-1                            the commit with the tag v0.1.0, or no repository (a release archive)
#   0.1.0~git20261123091500.1a1fe33-1  any other commit: older than 0.1.0-1, and later commits are newer
#   …+changed-1                        the same with uncommitted changes: not to be given away
cmake_policy(VERSION 3.25)  # cpack and installation scripts read this
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/ask_git.cmake)

function(package_version variable)
  set(version ${VERSION})
  is_git_top(is_top)
  if(is_top)
    ask_git(tags tag --points-at HEAD)
    string(REPLACE "\n" ";" tags "${tags}")
    if(NOT "v${VERSION}" IN_LIST tags)
      ask_git(commit log -1 --format=%cd.%h --date=format-local:%Y%m%d%H%M%S --abbrev=7)
      string(APPEND version "~git${commit}")
    endif()
    ask_git(changes status --porcelain --untracked-files=no)
    if(changes)
      string(APPEND version "+changed")
    endif()
  endif()
  set(${variable} ${version}-1 PARENT_SCOPE)
endfunction()
