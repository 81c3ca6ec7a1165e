# The Slurm plugin on a private real Slurm.
if(TARGET spank_belay)
  foreach(name step_plugin step_plugin_limits step_environment step_record step_vet step_kills)
    add_test(NAME integration.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/${name} $<TARGET_FILE:spank_belay> $<TARGET_FILE:belay>)
    set_tests_properties(integration.${name} PROPERTIES LABELS integration RESOURCE_LOCK steps TIMEOUT 1200
      ENVIRONMENT "BELAY_BUILD=${CMAKE_BINARY_DIR}")
  endforeach()
  set_tests_properties(integration.step_kills PROPERTIES RUN_SERIAL ON)
endif()
