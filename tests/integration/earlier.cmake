# What earlier versions wrote, read by today's command.
if(TARGET belay_cli)
  add_test(NAME integration.earlier_versions COMMAND ${CMAKE_CURRENT_LIST_DIR}/earlier_versions $<TARGET_FILE:belay>)
  set_tests_properties(integration.earlier_versions PROPERTIES LABELS integration TIMEOUT 1200)

  find_program(NODE_PROGRAM node REQUIRED)
  foreach(version 0.2.0 0.3.0 0.4.0 0.5.0 0.6.0)
    add_test(NAME integration.same_answers_as_${version}
      COMMAND ${NODE_PROGRAM} ${CMAKE_CURRENT_LIST_DIR}/same_answers.mjs $<TARGET_FILE:belay> ${CMAKE_SOURCE_DIR}/tests/data/${version})
    set_tests_properties(integration.same_answers_as_${version} PROPERTIES LABELS integration TIMEOUT 1200)
  endforeach()
endif()
