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
  add_test(NAME browser.report COMMAND ${NODE_PROGRAM} --test ${CMAKE_CURRENT_LIST_DIR}/report_test.mjs)
  set_tests_properties(browser.report PROPERTIES FIXTURES_REQUIRED browser_samples LABELS browser TIMEOUT 1800
    ENVIRONMENT "${environment}")
endif()
