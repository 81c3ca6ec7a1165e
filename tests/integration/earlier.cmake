# What earlier versions wrote, read by today's command.
if(TARGET belay_cli)
  add_test(NAME integration.earlier_versions COMMAND ${CMAKE_CURRENT_LIST_DIR}/earlier_versions $<TARGET_FILE:belay>)
  set_tests_properties(integration.earlier_versions PROPERTIES LABELS integration TIMEOUT 120)
endif()
