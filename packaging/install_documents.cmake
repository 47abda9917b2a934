# Script at install time: the copyright and the changelog of one package, as Debian wants them in /usr/share/doc/PACKAGE.
# Needs COMPONENT, DATA_DIR, MAINTAINER and what package_version.cmake needs.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/package_version.cmake)

# Debian's package of a component.
set(package fairlead-${COMPONENT})
if(COMPONENT STREQUAL "fairlead")
  set(package fairlead)
elseif(COMPONENT STREQUAL "preload")
  set(package libfairlead-preload)
endif()

if(IS_ABSOLUTE ${DATA_DIR})
  set(doc_folder $ENV{DESTDIR}${DATA_DIR}/doc/${package})
else()
  set(doc_folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${DATA_DIR}/doc/${package})
endif()

# install_compressed(FILE NAME): FILE as NAME.gz, the same bytes each time.
function(install_compressed file name)
  execute_process(COMMAND gzip -9nc ${file} OUTPUT_FILE ${doc_folder}/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${doc_folder}/${name}.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

set(ENV{TZ} UTC)
package_version(PACKAGE_VERSION)
set(CHANGELOG_DATE)
is_git_top(is_top)
if(is_top)
  ask_git(CHANGELOG_DATE log -1 --format=%cD)
endif()
if(NOT CHANGELOG_DATE)
  # No repository: the day on which the source was last changed is that of its list of changes.
  file(TIMESTAMP ${SOURCE_DIR}/CHANGELOG.md CHANGELOG_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
set(PACKAGE ${package})
file(MAKE_DIRECTORY ${doc_folder})
set(changelog ${doc_folder}/changelog.Debian)
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in ${changelog} @ONLY)
install_compressed(${changelog} changelog.Debian)
file(REMOVE ${changelog})
install_compressed(${SOURCE_DIR}/CHANGELOG.md changelog)
# Not file(INSTALL), which would put DESTDIR before the folder once more.
file(COPY ${CMAKE_CURRENT_LIST_DIR}/debian/copyright DESTINATION ${doc_folder})
