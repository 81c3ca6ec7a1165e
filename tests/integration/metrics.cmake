# Remote write to a real VictoriaMetrics; without it the cases are skipped, by name.
if(TARGET belay_metrics_remote)
  add_executable(remote_write_probe ${CMAKE_CURRENT_LIST_DIR}/remote_write_probe.cpp)
  target_link_libraries(remote_write_probe PRIVATE belay_metrics_remote)
  belay_use_precompiled(remote_write_probe)
  set_target_properties(remote_write_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME integration.remote_write COMMAND ${CMAKE_CURRENT_LIST_DIR}/remote_write $<TARGET_FILE:remote_write_probe>)
  set_tests_properties(integration.remote_write PROPERTIES LABELS integration TIMEOUT 1200)
endif()
