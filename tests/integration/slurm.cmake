# Behaviour on a private real Slurm (tests/cluster/mini-slurm).
function(belay_slurm_test name)
  add_test(NAME integration.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/integration/${name})
  set_tests_properties(integration.${name} PROPERTIES LABELS integration TIMEOUT 300
    ENVIRONMENT "BELAY_BUILD=${CMAKE_BINARY_DIR}")
endfunction()

belay_slurm_test(slurm_cluster)
