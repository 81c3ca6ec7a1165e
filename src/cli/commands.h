// The commands of `belay`, one file each. A new one is a file with an add_x(), its declaration here, and a
// line in the table of commands.cpp.
#pragma once

#include "core/command.h"

namespace belay::cli {

// The whole program: settings, groups and commands.
void add_commands(core::Application& application);
core::ApplicationPage application_page();

void add_stage_scan(core::Application& application);
void add_stage_pack(core::Application& application);
void add_stage_ls(core::Application& application);
void add_stage_cat(core::Application& application);
void add_stage_verify(core::Application& application);
void add_stage_repair(core::Application& application);
void add_stage_copy(core::Application& application);
void add_stage_clean(core::Application& application);
void add_stage_mount(core::Application& application);
void add_stage_unmount(core::Application& application);
void add_stage_checkpoint(core::Application& application);
void add_stage_checkpoint_lint(core::Application& application);
void add_stage_checkpoint_keep(core::Application& application);
void add_stage_layout(core::Application& application);
void add_stage_retention(core::Application& application);
void add_stage_bench(core::Application& application);
void add_stage_trace(core::Application& application);
void add_bench_roofline(core::Application& application);
void add_bench_check(core::Application& application);
void add_bench_rules(core::Application& application);
void add_bench_run(core::Application& application);
void add_bench_analyze(core::Application& application);
void add_bench_summarize(core::Application& application);
void add_completion(core::Application& application);
void add_config(core::Application& application);
void add_env_images(core::Application& application);
void add_env_pull(core::Application& application);
void add_env_render(core::Application& application);
void add_env_rm(core::Application& application);
void add_env_run(core::Application& application);
void add_env_validate(core::Application& application);
void add_findings(core::Application& application);
void add_findings_list(core::Application& application);
void add_findings_test(core::Application& application);
void add_manual(core::Application& application);
void add_prepare(core::Application& application);
void add_record_annex(core::Application& application);
void add_record_import_gssr(core::Application& application);
void add_record_import_jobreport(core::Application& application);
void add_record_gpu_trace(core::Application& application);
void add_record_cut(core::Application& application);
void add_record_info(core::Application& application);
void add_record_query(core::Application& application);
void add_record_run(core::Application& application);
void add_record_schema(core::Application& application);
void add_report(core::Application& application);
void add_record_seal(core::Application& application);
void add_score(core::Application& application);
void add_score_compare(core::Application& application);
void add_vet_list(core::Application& application);
void add_vet_run(core::Application& application);
void add_vet_show(core::Application& application);
void add_version(core::Application& application);

}  // namespace belay::cli
