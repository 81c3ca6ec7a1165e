# What agents write of a private real Slurm, cut into the records of its jobs.
if(TARGET belay_cli AND TARGET belay-agent AND TARGET belay_nvml_replay)
  add_test(NAME integration.agent_cut
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/agent_cut $<TARGET_FILE:belay> $<TARGET_FILE:belay-agent> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.agent_cut PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps)
endif()
