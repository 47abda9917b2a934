# The version as the program prints it: target fairlead_version, header "version.h", constant fairlead::kVersion.
#
# "0.1.0+g1234abc" names the commit; "0.1.0" where there is no git or no repository (a release archive). The header is
# made again when HEAD moves, not on every build, and its dependents only when the text changed. Uncommitted changes
# are not shown: that would need a look at every file on every build.

set(FAIRLEAD_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
find_package(Git QUIET)

# The dependency file names what git writes when HEAD moves. As the command writes it, a repository that comes, goes or
# is moved cannot break the build.
add_custom_command(
  OUTPUT ${FAIRLEAD_GENERATED_DIR}/version.h
  COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${FAIRLEAD_GENERATED_DIR}/version.h -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake ${PROJECT_SOURCE_DIR}/cmake/ask_git.cmake
          ${PROJECT_SOURCE_DIR}/cmake/version.h.in
  DEPFILE ${FAIRLEAD_GENERATED_DIR}/version.h.d
  COMMENT "Writing version.h"
  VERBATIM)
add_custom_target(fairlead_version_header DEPENDS ${FAIRLEAD_GENERATED_DIR}/version.h)

add_library(fairlead_version INTERFACE)
target_include_directories(fairlead_version INTERFACE ${FAIRLEAD_GENERATED_DIR})
add_dependencies(fairlead_version fairlead_version_header)
add_library(fairlead::version ALIAS fairlead_version)
