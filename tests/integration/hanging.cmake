# A file server that never answers, in the quicker cases; tests/long/hanging-files has all of them.
if(TARGET spank_belay)
  add_test(NAME integration.hanging_files COMMAND ${CMAKE_CURRENT_LIST_DIR}/hanging_files $<TARGET_FILE:spank_belay> $<TARGET_FILE:belay>
    $<TARGET_FILE:belay-agent> $<TARGET_FILE:hang_fs> "a_mount_source|spool_of_an_agent|whose_file_does|must_be_pulled|read_and_write_files|a_check_of|a_pipe_from|a_program_that")
  set_tests_properties(integration.hanging_files PROPERTIES LABELS integration RESOURCE_LOCK steps TIMEOUT 1200
    ENVIRONMENT "BELAY_BUILD=${CMAKE_BINARY_DIR}")
endif()
