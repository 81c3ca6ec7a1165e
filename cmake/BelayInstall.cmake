# What `cmake --install` puts where, and the Debian packages that `cpack -G DEB` makes of it. Below the prefix:
#
#   bin/            belay, belay-agent, belay-step
#   lib/belay/      what only Belay loads: libduckdb.so, the Slurm plugin, the replay of GPU traces
#   libexec/belay/  belay-train, belay-all-reduce
#   lib/systemd/    the unit of belay-agent
#   share/          manual pages, completion of shells, licences
#
# Programs find the other places from their own, so that an installed tree may be moved as a whole. Each component is a package.

set(private_directory lib/belay)

# belay_install(COMPONENT DESTINATION targets...): targets that were not configured are left out.
function(belay_install component destination)
  foreach(target ${ARGN})
    if(TARGET ${target})
      install(TARGETS ${target} RUNTIME DESTINATION ${destination} COMPONENT ${component}
        LIBRARY DESTINATION ${destination} COMPONENT ${component})
    endif()
  endforeach()
endfunction()

foreach(target belay belay-agent belay-step belay-train belay-all-reduce)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "")
  endif()
endforeach()
set_target_properties(belay PROPERTIES INSTALL_RPATH "\$ORIGIN/../${private_directory}")

belay_install(belay bin belay belay-agent belay-step)
belay_install(belay ${private_directory} belay_nvml_replay belay_io)
belay_install(belay-slurm ${private_directory} spank_belay)
belay_install(belay-models libexec/belay belay-train belay-all-reduce)

# As a file of ours: what was found may be a link into a place that goes away.
file(REAL_PATH ${DUCKDB_LIBRARY} duckdb_file)
install(FILES ${duckdb_file} DESTINATION ${private_directory} RENAME libduckdb.so COMPONENT belay)
find_file(DUCKDB_LICENSE LICENSE PATHS ${BELAY_NODE_MODULES}/duckdb NO_DEFAULT_PATH)
if(DUCKDB_LICENSE)
  install(FILES ${DUCKDB_LICENSE} DESTINATION share/doc/belay RENAME duckdb-license COMPONENT belay)
endif()
foreach(component belay belay-slurm belay-models)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/${component} RENAME copyright COMPONENT ${component})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/CHANGES.md ${PROJECT_SOURCE_DIR}/docs/operators.md DESTINATION share/doc/belay
  COMPONENT belay)

# Switched on by the site; it finds the program below /usr and /usr/local.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/belay-agent.service DESTINATION lib/systemd/system COMPONENT belay)

# Readers of packed data for programs of others.
install(FILES ${PROJECT_SOURCE_DIR}/src/shard/reader/shards.hpp DESTINATION include/belay COMPONENT belay)
install(FILES ${PROJECT_SOURCE_DIR}/src/shard/python/belay_shards.py ${PROJECT_SOURCE_DIR}/python/belay_record.py DESTINATION lib/python3/dist-packages COMPONENT belay)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man DESTINATION share COMPONENT belay)
# The shells' own names for the script of one command.
set(completions bash-completion/completions/belay zsh/vendor-completions/_belay fish/vendor_completions.d/belay.fish)
foreach(file ${completions})
  string(REGEX REPLACE "^(bash|zsh|fish).*" "\\1" shell ${file})
  cmake_path(GET file PARENT_PATH folder)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share/${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/share/${folder}
    COMMAND belay completion ${shell} > ${CMAKE_BINARY_DIR}/share/${file}
    DEPENDS belay VERBATIM)
  list(APPEND completion_files ${CMAKE_BINARY_DIR}/share/${file})
  install(FILES ${CMAKE_BINARY_DIR}/share/${file} DESTINATION share/${folder} COMPONENT belay)
endforeach()
add_custom_target(belay_completion ALL DEPENDS ${completion_files})

# The packages. What they need of shared libraries is found in the files themselves.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME belay)
set(CPACK_PACKAGE_VENDOR Belay)
set(CPACK_PACKAGE_CONTACT "The Belay contributors <belay@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL belay)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)

set(CPACK_DEBIAN_BELAY_PACKAGE_NAME belay)
set(CPACK_COMPONENT_BELAY_DESCRIPTION "machine learning on Slurm: environments, vetting, job records, reports
Puts jobs into the environment they were written for, checks nodes before a
job starts, records what a job and its nodes did, and shows where the time
went.")
# Loaded when it is first needed, so that no program is linked with it.
set(CPACK_DEBIAN_BELAY_PACKAGE_DEPENDS libcurl4)
# Without these only `belay env` and the agent's --listen are missing, which say so.
set(CPACK_DEBIAN_BELAY_PACKAGE_RECOMMENDS "crun, squashfuse, fuse3 | fuse, libopenblas0-pthread | libopenblas0, libmicrohttpd12")

if(TARGET spank_belay)
  list(APPEND CPACK_COMPONENTS_ALL belay-slurm)
  # A plugin works with the release of Slurm (YY.MM) whose headers it was built with: Slurm refuses it in another.
  file(STRINGS ${SLURM_INCLUDE_DIR}/slurm/slurm_version.h slurm_version REGEX "SLURM_VERSION_NUMBER 0x")
  string(REGEX MATCH "0x([0-9a-f][0-9a-f])([0-9a-f][0-9a-f])[0-9a-f][0-9a-f]" slurm_version "${slurm_version}")
  math(EXPR slurm_year "0x${CMAKE_MATCH_1}")
  math(EXPR slurm_month "0x${CMAKE_MATCH_2}")
  set(slurm_release ${slurm_year}.0${slurm_month})
  if(slurm_month GREATER 9)
    set(slurm_release ${slurm_year}.${slurm_month})
  endif()
  set(CPACK_DEBIAN_BELAY-SLURM_PACKAGE_NAME belay-slurm)
  set(CPACK_COMPONENT_BELAY-SLURM_DESCRIPTION "Belay's plugin for Slurm ${slurm_release}
srun --environment, --vet and --record. Slurm loads it when plugstack.conf
names it; jobs that use none of its options are not touched.")
  set(CPACK_DEBIAN_BELAY-SLURM_PACKAGE_DEPENDS
    "belay (= ${PROJECT_VERSION}), slurm-wlm-basic-plugins (>= ${slurm_release}), slurm-wlm-basic-plugins (<< ${slurm_release}.99)")
endif()

if(TARGET belay-train)
  list(APPEND CPACK_COMPONENTS_ALL belay-models)
  set(CPACK_DEBIAN_BELAY-MODELS_PACKAGE_NAME belay-models)
  set(CPACK_COMPONENT_BELAY-MODELS_DESCRIPTION "the models of belay bench run, trained with libtorch")
  set(CPACK_DEBIAN_BELAY-MODELS_PACKAGE_DEPENDS "belay (= ${PROJECT_VERSION})")
endif()
include(CPack)
