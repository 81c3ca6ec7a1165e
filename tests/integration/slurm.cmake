# Behaviour on a private real Slurm (tests/cluster/mini-slurm).
add_executable(slurm_print ${CMAKE_CURRENT_LIST_DIR}/slurm_print.cpp)
target_link_libraries(slurm_print PRIVATE belay_slurm)
belay_use_precompiled(slurm_print)
set_target_properties(slurm_print PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(name slurm_cluster slurm_hostlist slurm_job)
  add_test(NAME integration.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/${name})
  set_tests_properties(integration.${name} PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps
    ENVIRONMENT "BELAY_BUILD=${CMAKE_BINARY_DIR}")
endforeach()
