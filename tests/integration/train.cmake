# The training program as processes: alone, on several ranks, on a private real Slurm.
if(TARGET belay-train)
  add_executable(train_probe ${CMAKE_CURRENT_LIST_DIR}/train_probe.cpp)
  target_link_libraries(train_probe PRIVATE belay_progress)
  belay_use_precompiled(train_probe)
  set_target_properties(train_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

  foreach(name train_ranks train_on_slurm roofline_ranks)
    add_test(NAME integration.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/${name})
    set_tests_properties(integration.${name} PROPERTIES LABELS integration TIMEOUT 1200
      ENVIRONMENT "BELAY_BUILD=${CMAKE_BINARY_DIR}")
  endforeach()
  set_tests_properties(integration.train_on_slurm integration.roofline_ranks PROPERTIES RESOURCE_LOCK steps)
endif()
