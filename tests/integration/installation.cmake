# What `cmake --install` and cpack leave.
if(TARGET spank_belay)
  add_test(NAME integration.installation COMMAND ${CMAKE_CURRENT_LIST_DIR}/installation ${CMAKE_BINARY_DIR})
  set_tests_properties(integration.installation PROPERTIES LABELS integration RESOURCE_LOCK steps TIMEOUT 1200)
endif()
