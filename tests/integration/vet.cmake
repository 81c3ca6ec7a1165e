# Vetting on a real Slurm: nodes that are sick in known ways, and healthy ones that must not be accused.
if(TARGET belay_cli)
  add_test(NAME integration.vet_on_slurm COMMAND ${CMAKE_CURRENT_LIST_DIR}/vet_on_slurm $<TARGET_FILE:belay>)
  set_tests_properties(integration.vet_on_slurm PROPERTIES LABELS integration TIMEOUT 1200 RUN_SERIAL ON)
endif()
