# Images from Debian's docker-registry, as a user pulls them.
if(TARGET belay_cli)
  add_test(NAME integration.image_pull COMMAND ${CMAKE_CURRENT_LIST_DIR}/image_pull $<TARGET_FILE:belay>)
  set_tests_properties(integration.image_pull PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps)
endif()
