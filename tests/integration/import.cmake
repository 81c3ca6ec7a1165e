# Recordings of other tools through the real command, up to their score.
if(TARGET belay_cli)
  add_test(NAME integration.import_gssr COMMAND ${CMAKE_CURRENT_LIST_DIR}/import_gssr $<TARGET_FILE:belay>)
  set_tests_properties(integration.import_gssr PROPERTIES LABELS integration TIMEOUT 1200)
endif()
