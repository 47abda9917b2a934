# ask_git(VARIABLE ARGS…): git's answer about SOURCE_DIR, or "" where git (the variable GIT) or the repository is missing.
# safe.directory: the build may run as root in a user's checkout.
function(ask_git variable)
  set(answer)
  if(GIT)
    execute_process(COMMAND ${GIT} -c safe.directory=* ${ARGN} WORKING_DIRECTORY ${SOURCE_DIR}
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

# is_git_top(VARIABLE): is SOURCE_DIR itself a repository? A release archive may lie inside another one, with commits that
# do not name it.
function(is_git_top variable)
  ask_git(top_folder rev-parse --show-toplevel)
  file(REAL_PATH ${SOURCE_DIR} source_folder)
  set(is_top OFF)
  if(top_folder STREQUAL source_folder)
    set(is_top ON)
  endif()
  set(${variable} ${is_top} PARENT_SCOPE)
endfunction()
