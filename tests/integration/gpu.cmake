# GPUs in the record and in vetting, where none are: a library with NVML's names plays traces.
if(TARGET belay_cli AND TARGET belay_nvml_replay)
  add_test(NAME integration.gpu_record
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/gpu_record $<TARGET_FILE:belay> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.gpu_record PROPERTIES LABELS integration TIMEOUT 1200)
endif()
if(TARGET belay_cli AND TARGET belay_nvml_replay)
  add_test(NAME integration.gpu_score
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/gpu_score $<TARGET_FILE:belay> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.gpu_score PROPERTIES LABELS integration TIMEOUT 1200)
endif()
if(TARGET belay_cli AND TARGET belay_nvml_replay)
  add_test(NAME integration.gpu_measured
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/gpu_measured $<TARGET_FILE:belay> $<TARGET_FILE:belay_nvml_replay>)
  set_tests_properties(integration.gpu_measured PROPERTIES LABELS integration TIMEOUT 1200)
endif()
