# Programs that use the CPUs in one way each, for tests/long/cpu-score.
add_executable(cpu_work ${CMAKE_CURRENT_LIST_DIR}/cpu_work.cpp)
target_link_libraries(cpu_work PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(cpu_work PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
