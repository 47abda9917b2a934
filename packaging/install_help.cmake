# Script at install time: manual pages and shell completion, which `fairlead` writes about itself. A `fairlead` without
# the commands `man` and `completion` installs none. Needs COMPONENT, PROGRAM, DATA_DIR and CMAKE_INSTALL_PREFIX.
#
# Expected of PROGRAM:  `man DIR` writes pages NAME.SECTION into DIR;  `completion bash|zsh|fish` prints a script.
cmake_policy(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} completion --help RESULT_VARIABLE completion_code OUTPUT_QUIET ERROR_QUIET)
execute_process(COMMAND ${PROGRAM} man --help RESULT_VARIABLE man_code OUTPUT_QUIET ERROR_QUIET)

if(IS_ABSOLUTE ${DATA_DIR})
  set(data_folder $ENV{DESTDIR}${DATA_DIR})
else()
  set(data_folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${DATA_DIR})
endif()

# One script knows all commands, those of the daemons too.
if(COMPONENT STREQUAL "fairlead" AND completion_code EQUAL 0)
  foreach(place IN ITEMS bash:bash-completion/completions/fairlead zsh:zsh/vendor-completions/_fairlead
          fish:fish/vendor_completions.d/fairlead.fish)
    string(REPLACE ":" ";" place ${place})
    list(GET place 0 shell)
    list(GET place 1 path)
    cmake_path(GET path PARENT_PATH folder)
    file(MAKE_DIRECTORY ${data_folder}/${folder})
    execute_process(COMMAND ${PROGRAM} completion ${shell} OUTPUT_FILE ${data_folder}/${path} COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD ${data_folder}/${path} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endforeach()
endif()

# Pages of a daemon come with its package, all others with `fairlead`.
if(man_code EQUAL 0 AND NOT COMPONENT STREQUAL "preload")
  string(RANDOM LENGTH 12 suffix)
  set(pages_folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/fairlead-pages-${suffix})
  file(MAKE_DIRECTORY ${pages_folder})
  execute_process(COMMAND ${PROGRAM} man ${pages_folder} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages RELATIVE ${pages_folder} ${pages_folder}/*.[1-8])
  foreach(page IN LISTS pages)
    set(owner fairlead)
    if(page MATCHES "^fairlead-(agent|controller)[-.]")
      set(owner ${CMAKE_MATCH_1})
    endif()
    if(owner STREQUAL COMPONENT)
      string(REGEX MATCH "[1-8]$" section ${page})
      set(folder ${data_folder}/man/man${section})
      file(MAKE_DIRECTORY ${folder})
      execute_process(COMMAND gzip -9nc ${pages_folder}/${page} OUTPUT_FILE ${folder}/${page}.gz
        COMMAND_ERROR_IS_FATAL ANY)
      file(CHMOD ${folder}/${page}.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
  file(REMOVE_RECURSE ${pages_folder})
  # Programs that people call by commands of `fairlead`.
  if(COMPONENT STREQUAL "fairlead")
    foreach(program IN ITEMS client:top sim-agents:sim sim-chaos:sim trainer:lab)
      string(REPLACE ":" ";" program ${program})
      list(GET program 0 name)
      list(GET program 1 command)
      file(CREATE_LINK fairlead-${command}.1.gz ${data_folder}/man/man1/fairlead-${name}.1.gz SYMBOLIC)
    endforeach()
  endif()
endif()
