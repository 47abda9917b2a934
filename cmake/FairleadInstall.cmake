# cmake --install build/release --prefix DIR: the program, the libraries for training processes, and the files
# that it reads by name.
include(GNUInstallDirs)
if(TARGET fairlead)
  install(TARGETS fairlead fairlead-agent fairlead-cert fairlead-controller fairlead-diag fairlead-experiment fairlead-lab
          fairlead-predict fairlead-trace fairlead-trainer RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# What training processes load.
install(TARGETS fairlead_nccl_profiler fairlead_steer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fairlead)
install(DIRECTORY src/ccl/torch/fairlead_torch DESTINATION ${CMAKE_INSTALL_LIBDIR}/fairlead/python
  FILES_MATCHING PATTERN "*.py")
foreach(folder IN ITEMS scenarios profiles fabrics schemas trace_profiles workloads)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/fairlead)
  endif()
endforeach()
install(PROGRAMS integrations/slurm/fairlead-hook DESTINATION ${CMAKE_INSTALL_DATADIR}/fairlead/integrations/slurm)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
