# Reports in headless Chromium, driven by node. Left out where the packages of the profile `check` are not installed.
find_program(NODE_PROGRAM node)
find_program(CHROMIUM_PROGRAM chromium)
if(BELAY_TESTS AND NODE_PROGRAM AND CHROMIUM_PROGRAM AND TARGET report_sample
   AND EXISTS ${CMAKE_SOURCE_DIR}/packages/npm/check/node_modules/playwright-core)
  set(environment "CHROMIUM=${CHROMIUM_PROGRAM}")
  foreach(sample training hostile bare large gpu1 gpu16 gpu1024)
    set(page ${CMAKE_BINARY_DIR}/tests/report_${sample}.html)
    add_test(NAME browser.sample_${sample} COMMAND report_sample ${sample} ${page})
    set_tests_properties(browser.sample_${sample} PROPERTIES FIXTURES_SETUP browser_samples LABELS browser)
    string(TOUPPER ${sample} name)
    list(APPEND environment "REPORT_${name}=${page}")
  endforeach()
  set(page ${CMAKE_BINARY_DIR}/tests/analysis.html)
  add_test(NAME browser.sample_analysis COMMAND analysis_sample ${page})
  set_tests_properties(browser.sample_analysis PROPERTIES FIXTURES_SETUP analysis_sample LABELS browser)
  add_test(NAME browser.analysis COMMAND ${NODE_PROGRAM} --test ${CMAKE_CURRENT_LIST_DIR}/analysis_test.mjs)
  set_tests_properties(browser.analysis PROPERTIES FIXTURES_REQUIRED analysis_sample LABELS browser TIMEOUT 1200
    ENVIRONMENT "CHROMIUM=${CHROMIUM_PROGRAM};ANALYSIS_PAGE=${page}")
  add_test(NAME browser.report COMMAND ${NODE_PROGRAM} --test ${CMAKE_CURRENT_LIST_DIR}/report_test.mjs)
  set_tests_properties(browser.report PROPERTIES FIXTURES_REQUIRED browser_samples LABELS browser TIMEOUT 1800
    ENVIRONMENT "${environment}")
endif()
