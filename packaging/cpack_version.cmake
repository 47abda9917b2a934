# Read by cpack before it makes packages: which version they have.
include(${CMAKE_CURRENT_LIST_DIR}/package_version.cmake)
set(GIT ${CPACK_FAIRLEAD_GIT})
set(SOURCE_DIR ${CPACK_FAIRLEAD_SOURCE_DIR})
set(VERSION ${CPACK_FAIRLEAD_VERSION})
set(ENV{TZ} UTC)
package_version(CPACK_DEBIAN_PACKAGE_VERSION)
