# What agents write of a private real Slurm, cut into the records of its jobs.
if(TARGET belay_cli AND TARGET belay-agent AND TARGET belay_nvml_replay)
  add_test(NAME integration.agent_cut
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/agent_cut $<TARGET_FILE:belay> $<TARGET_FILE:belay-agent> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.agent_cut PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps)
endif()
# What agents send and show, with a belayd and a receiver of metrics that are tests' own.
if(TARGET belay-agent)
  add_test(NAME integration.agent_ships COMMAND ${CMAKE_CURRENT_LIST_DIR}/agent_ships $<TARGET_FILE:belay-agent>)
  set_tests_properties(integration.agent_ships PROPERTIES LABELS integration TIMEOUT 1200)
  add_test(NAME integration.agent_unit COMMAND ${CMAKE_CURRENT_LIST_DIR}/agent_unit $<TARGET_FILE:belay-agent>
    ${CMAKE_SOURCE_DIR}/packaging/systemd/belay-agent.service)
  set_tests_properties(integration.agent_unit PROPERTIES LABELS integration TIMEOUT 300)
endif()
if(TARGET belay_cli AND TARGET belay-agent AND TARGET belay_nvml_replay)
  add_test(NAME integration.agent_metrics
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/agent_metrics $<TARGET_FILE:belay> $<TARGET_FILE:belay-agent> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.agent_metrics PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps)
endif()
