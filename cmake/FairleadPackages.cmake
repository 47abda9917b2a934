# The Debian packages that cpack makes of the components (FairleadInstall.cmake). Made with tools/package.sh, which builds
# the preset `package` first; docs/operate/packages.md says which package goes where.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fairlead)
set(CPACK_PACKAGE_VENDOR Fairlead)
set(CPACK_PACKAGE_CONTACT "${FAIRLEAD_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL fairlead agent controller preload slurm)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# The version is asked for when packages are made, as git knows it then.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/cpack_version.cmake)
set(CPACK_FAIRLEAD_GIT ${GIT_EXECUTABLE})
set(CPACK_FAIRLEAD_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_FAIRLEAD_VERSION ${PROJECT_VERSION})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The quickest: tools/package.sh compresses them again.
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
# What programs are linked with becomes what their packages depend on; their symbols go to packages of their own, by which
# programs are stripped as well.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)

set(CPACK_DEBIAN_FAIRLEAD_PACKAGE_NAME fairlead)
set(CPACK_DEBIAN_FAIRLEAD_PACKAGE_SECTION science)
# It draws figures as PDF.
set(CPACK_DEBIAN_FAIRLEAD_PACKAGE_RECOMMENDS librsvg2-bin)
# Labs are made of the other packages; who only simulates needs none of them.
set(CPACK_DEBIAN_FAIRLEAD_PACKAGE_SUGGESTS
  "fairlead-agent, fairlead-controller, libfairlead-preload, iproute2, nftables, procps")
set(CPACK_COMPONENT_FAIRLEAD_DESCRIPTION
"simulate and diagnose shared deep-learning training clusters
Shared training clusters waste GPU hours when jobs wait for each other on
crowded links. Fairlead simulates jobs, fabric and scheduling policies
together, and says for every job which link holds it up, who shares that
link, and what a better policy would change.

This package has the programs for people: the simulator, the diagnosis of
recorded jobs, published experiments, the emulated fabric (lab), forecasts,
traces, and the tool that makes certificates for the daemons. Sample
scenarios, fabrics and model profiles are included.")

set(CPACK_DEBIAN_AGENT_PACKAGE_NAME fairlead-agent)
set(CPACK_DEBIAN_AGENT_PACKAGE_SECTION net)
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "adduser, iproute2")
set(CPACK_DEBIAN_AGENT_PACKAGE_RECOMMENDS nftables)
set(CPACK_DEBIAN_AGENT_PACKAGE_SUGGESTS libfairlead-preload)
set(CPACK_COMPONENT_AGENT_DESCRIPTION
"Fairlead daemon for each host of a training cluster
The agent answers the training processes of its host, probes paths through
the fabric, moves open TCP connections to other paths, and reports to the
Fairlead controller what training processes are doing.

The service does not start until you have configured and enabled it.")

set(CPACK_DEBIAN_CONTROLLER_PACKAGE_NAME fairlead-controller)
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_DEPENDS adduser)
# fairlead-cert makes its certificates, which need not happen on the same machine.
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_RECOMMENDS fairlead)
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_SUGGESTS "jq, slurm-client")
set(CPACK_COMPONENT_CONTROLLER_DESCRIPTION
"Fairlead daemon that steers and diagnoses a training cluster
The controller assigns network paths and priorities to the connections of
running training jobs, finds hosts, links and processes that hold jobs up,
and can have them replaced by a program of yours. One controller serves a
cluster; each host runs fairlead-agent.

The service does not start until you have configured and enabled it.")

set(CPACK_DEBIAN_PRELOAD_PACKAGE_NAME libfairlead-preload)
set(CPACK_DEBIAN_PRELOAD_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PRELOAD_PACKAGE_SUGGESTS "fairlead-agent, python3")
set(CPACK_COMPONENT_PRELOAD_DESCRIPTION
"Fairlead libraries that training processes load
Install this package in the images of training jobs. It has the library that
asks the host's agent for network paths (LD_PRELOAD), the profiler plugin for
NCCL (NCCL_PROFILER_PLUGIN), and a Python package that watches PyTorch jobs
without NCCL. The libraries need nothing but the C library, and leave a job
alone where no agent answers.")

set(CPACK_DEBIAN_SLURM_PACKAGE_NAME fairlead-slurm)
set(CPACK_DEBIAN_SLURM_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SLURM_PACKAGE_RECOMMENDS "libfairlead-preload, curl, jq")
set(CPACK_DEBIAN_SLURM_PACKAGE_SUGGESTS "slurmctld, slurmd")
set(CPACK_COMPONENT_SLURM_DESCRIPTION
"Fairlead in the jobs of a Slurm cluster
A plugin for Slurm gives every task the environment by which Fairlead watches
it and steers its connections, with an option for those who want neither.
Further programs for Slurm prepare hosts, tell Fairlead when a job ends, and
mark jobs that may be given another size.

Nothing is in force before you name it in slurm.conf and plugstack.conf.")

# What dpkg runs for the two daemons (packaging/debian/daemon), as the package of each.
foreach(DAEMON IN ITEMS agent controller)
  set(PACKAGE fairlead-${DAEMON})
  # The agent's folder has the name that training processes know.
  set(RUN_FILES /run/fairlead-controller)
  if(DAEMON STREQUAL "agent")
    set(RUN_FILES "/run/fairlead/agent.sock /run/fairlead/health.json")
  endif()
  string(TOUPPER ${DAEMON} component)
  foreach(script IN ITEMS conffiles postinst prerm postrm)
    set(made ${PROJECT_BINARY_DIR}/packaging/${PACKAGE}/${script})
    configure_file(packaging/debian/daemon/${script}.in ${made} @ONLY)
    list(APPEND CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${made})
  endforeach()
endforeach()

# What lintian is not to say (packaging/debian/lintian-overrides.in, with the reasons).
foreach(PACKAGE IN ITEMS fairlead fairlead-agent fairlead-controller fairlead-slurm libfairlead-preload)
  configure_file(packaging/debian/lintian-overrides.in ${PROJECT_BINARY_DIR}/packaging/lintian/${PACKAGE} @ONLY)
  string(REGEX REPLACE "^(fairlead|libfairlead)-" "" component ${PACKAGE})
  install(FILES ${PROJECT_BINARY_DIR}/packaging/lintian/${PACKAGE} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    COMPONENT ${component})
endforeach()

foreach(component IN ITEMS FAIRLEAD AGENT CONTROLLER PRELOAD SLURM)
  set(CPACK_DEBIAN_${component}_DEBUGINFO_PACKAGE ON)
endforeach()

include(CPack)
