# cmake --install build/release --prefix DIR: the programs, the libraries for training processes, and the files
# that they read by name. Every file belongs to one component, and a component is a Debian package
# (cmake/FairleadPackages.cmake; a test holds this to it):
#   fairlead     programs for people, and the files that these find by name
#   agent        the daemon of each host         controller   the daemon of a cluster
#   preload      what training processes load
#   slurm        what Slurm loads and runs, on its controller, login and training hosts
include(GNUInstallDirs)
set(FAIRLEAD_PACKAGE_MAINTAINER "Fairlead maintainers <maintainers@fairlead.example>" CACHE STRING
  "Who answers for the packages, as NAME <ADDRESS>")
mark_as_advanced(FAIRLEAD_PACKAGE_MAINTAINER)
set(FAIRLEAD_PEOPLE_PROGRAMS fairlead fairlead-audit fairlead-cert fairlead-client fairlead-diag fairlead-doctor fairlead-experiment fairlead-fabric fairlead-lab
    fairlead-predict fairlead-sched fairlead-sim-agents fairlead-sim-chaos fairlead-trace fairlead-trainer)
if(TARGET fairlead)
  install(TARGETS ${FAIRLEAD_PEOPLE_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT fairlead)
  foreach(daemon IN ITEMS agent controller)
    install(TARGETS fairlead-${daemon} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${daemon})
  endforeach()
endif()
# What training processes load.
install(TARGETS fairlead_nccl_profiler fairlead_steer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fairlead
  COMPONENT preload)
install(DIRECTORY src/ccl/torch/fairlead_torch DESTINATION ${CMAKE_INSTALL_LIBDIR}/fairlead/python COMPONENT preload
  FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
foreach(folder IN ITEMS deploy scenarios profiles fabrics schemas trace_profiles workloads)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/fairlead COMPONENT fairlead)
  endif()
endforeach()
install(PROGRAMS integrations/slurm/fairlead-hook DESTINATION ${CMAKE_INSTALL_DATADIR}/fairlead/integrations/slurm
  COMPONENT controller)
install(PROGRAMS integrations/slurm/fairlead-epilog integrations/slurm/fairlead-job-end integrations/slurm/fairlead-prolog
  integrations/slurm/fairlead-watchdog DESTINATION ${CMAKE_INSTALL_DATADIR}/fairlead/integrations/slurm COMPONENT slurm)
install(FILES integrations/slurm/fairlead_jobs.lua integrations/slurm/job_submit.lua integrations/slurm/plugstack.conf
  integrations/slurm/slurm.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/fairlead/integrations/slurm COMPONENT slurm)
if(TARGET fairlead_spank)
  install(TARGETS fairlead_spank LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fairlead COMPONENT slurm)
endif()

# Daemons: a unit, and a file with its options. Nothing enables the unit.
set(FAIRLEAD_UNIT_DIR lib/systemd/system CACHE STRING "Folder of systemd units; Debian 12's is /lib/systemd/system")
mark_as_advanced(FAIRLEAD_UNIT_DIR)
foreach(daemon IN ITEMS agent controller)
  configure_file(packaging/systemd/fairlead-${daemon}.service.in
    ${PROJECT_BINARY_DIR}/packaging/fairlead-${daemon}.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/fairlead-${daemon}.service DESTINATION ${FAIRLEAD_UNIT_DIR}
    COMPONENT ${daemon})
  install(FILES packaging/default/fairlead-${daemon} DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/default COMPONENT ${daemon})
  # For the operator's keys, and the fabric.
  install(DIRECTORY DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/fairlead COMPONENT ${daemon})
endforeach()

# What each package says about itself, and what the programs write about themselves (packaging/install_*.cmake).
foreach(component IN ITEMS fairlead agent controller preload slurm)
  install(CODE "
    set(COMPONENT ${component})
    set(GIT \"${GIT_EXECUTABLE}\")
    set(SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
    set(VERSION ${PROJECT_VERSION})
    set(MAINTAINER \"${FAIRLEAD_PACKAGE_MAINTAINER}\")
    set(DATA_DIR ${CMAKE_INSTALL_DATADIR})
    set(PROGRAM \"${PROJECT_BINARY_DIR}/apps/fairlead\")
    include(\"${PROJECT_SOURCE_DIR}/packaging/install_documents.cmake\")
    include(\"${PROJECT_SOURCE_DIR}/packaging/install_help.cmake\")"
    COMPONENT ${component})
endforeach()
install(FILES docs/operate/diagnosis.md docs/operate/packages.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fairlead-controller COMPONENT controller)
install(FILES docs/operate/packages.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fairlead-agent COMPONENT agent)
install(FILES docs/internals/modules/ccl.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libfairlead-preload COMPONENT preload)
install(FILES docs/operate/slurm.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fairlead-slurm COMPONENT slurm)
