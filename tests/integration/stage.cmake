# Packed data against other readers, kills and damage; staging on a private real Slurm.
if(TARGET belay_cli)
  add_test(NAME integration.stage_pack COMMAND ${CMAKE_CURRENT_LIST_DIR}/stage_pack $<TARGET_FILE:belay>)
  set_tests_properties(integration.stage_pack PROPERTIES LABELS integration TIMEOUT 1200)
endif()
if(TARGET belay_cli AND TARGET spank_belay)
  add_test(NAME integration.stage_on_slurm COMMAND ${CMAKE_CURRENT_LIST_DIR}/stage_on_slurm ${CMAKE_BINARY_DIR})
  set_tests_properties(integration.stage_on_slurm PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps)
endif()
