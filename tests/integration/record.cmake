# The recorder against the real thing: kills, full disks, a real Slurm, an independent reader of its Parquet files.
if(TARGET belay_cli)
  foreach(name survives agrees hostile on_slurm)
    add_test(NAME integration.record_${name}
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/record_${name} $<TARGET_FILE:belay>)
    set_tests_properties(integration.record_${name} PROPERTIES LABELS integration TIMEOUT 1200)
  endforeach()
  set_tests_properties(integration.record_on_slurm PROPERTIES RESOURCE_LOCK steps)
  # How much a recorder lost at most, and when, is judged.
  set_tests_properties(integration.record_survives integration.record_agrees PROPERTIES RUN_SERIAL ON)
  # The reference page is what the program says of itself.
  add_test(NAME docs.record_tables
    COMMAND bash -c "diff <($<TARGET_FILE:belay> record schema --markdown) ${CMAKE_SOURCE_DIR}/docs/reference/record-tables.md")
  set_tests_properties(docs.record_tables PROPERTIES LABELS integration)
endif()

if(TARGET belay-agent AND TARGET belay-step)
  add_test(NAME integration.wrong_inputs COMMAND ${CMAKE_CURRENT_LIST_DIR}/wrong_inputs
    $<TARGET_FILE:belay> $<TARGET_FILE:belay-agent> $<TARGET_FILE:belay-step>)
  set_tests_properties(integration.wrong_inputs PROPERTIES LABELS integration TIMEOUT 1200)
endif()
