# belayd with agents and a private real Slurm.
if(TARGET belay_cli AND TARGET belay-agent AND TARGET belayd)
  add_test(NAME integration.belayd
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/belayd $<TARGET_FILE:belay> $<TARGET_FILE:belay-agent> $<TARGET_FILE:belayd>)
  set_tests_properties(integration.belayd PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps)
endif()
