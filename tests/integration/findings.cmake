# Findings of real programs: each is ill in one way, and that must be named first; the healthy one must not be accused.
if(TARGET belay_cli AND TARGET belay_nvml_replay)
  add_executable(sick_program ${CMAKE_CURRENT_LIST_DIR}/sick_program.cpp)
  target_link_libraries(sick_program PRIVATE belay_progress Threads::Threads)
  belay_use_precompiled(sick_program)
  set_target_properties(sick_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

  add_test(NAME integration.findings_on_slurm COMMAND ${CMAKE_CURRENT_LIST_DIR}/findings_on_slurm
    $<TARGET_FILE:belay> $<TARGET_FILE:sick_program> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.findings_on_slurm PROPERTIES LABELS integration TIMEOUT 1200 RUN_SERIAL ON)
endif()

if(TARGET spank_belay)
  foreach(name job_ends job_ends_accounted)
    add_test(NAME integration.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/${name} $<TARGET_FILE:spank_belay> $<TARGET_FILE:belay>)
    set_tests_properties(integration.${name} PROPERTIES LABELS integration TIMEOUT 1200 RESOURCE_LOCK steps SKIP_RETURN_CODE 77
      ENVIRONMENT "BELAY_BUILD=${CMAKE_BINARY_DIR}")
  endforeach()
endif()
