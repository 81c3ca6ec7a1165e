#include "cli/commands.h"

#include "cli/build_facts.h"
#include "step/settings.h"

namespace belay::cli {

namespace {

// In the order in which --help lists them.
constexpr void (*kCommands[])(core::Application&) = {
    add_env_validate,
    add_env_render,
    add_env_run,
    add_env_pull,
    add_env_images,
    add_env_rm,
    add_vet_run,
    add_vet_list,
    add_vet_show,
    add_record_run,
    add_record_cut,
    add_record_seal,
    add_record_annex,
    add_record_info,
    add_record_query,
    add_record_schema,
    add_record_gpu_trace,
    add_record_import_gssr,
    add_record_import_jobreport,
    add_score,
    add_score_compare,
    add_report,
    add_findings,
    add_findings_list,
    add_findings_test,
    add_stage_scan,
    add_stage_pack,
    add_stage_ls,
    add_stage_cat,
    add_stage_trace,
    add_stage_verify,
    add_stage_repair,
    add_stage_copy,
    add_stage_clean,
    add_stage_mount,
    add_stage_unmount,
    add_stage_checkpoint,
    add_stage_checkpoint_lint,
    add_stage_checkpoint_keep,
    add_stage_layout,
    add_stage_retention,
    add_stage_bench,
    add_bench_run,
    add_bench_summarize,
    add_bench_analyze,
    add_bench_check,
    add_bench_rules,
    add_bench_roofline,
    add_config,
    add_version,
    add_completion,
    add_manual,
    add_prepare,
};

}  // namespace

core::ApplicationPage application_page() {
    return {
        .name = "belay",
        .summary = "hold the rope for ML jobs on a Slurm GPU cluster",
        .description =
            "Belay records what a job does on each of its nodes in one place, the job record. Its commands "
            "make and read such records, and run benchmarks that are measured with them.\n\n"
            "Every command that prints facts has --json. Settings come from /etc/belay/*.toml, "
            "~/.config/belay/*.toml, the environment and options, in this order; \"belay config\" shows "
            "where each comes from.",
        .version = std::string(kVersion),
    };
}

void add_commands(core::Application& application) {
    application.add_settings(step::settings());
    application.add_group({.name = "record",
                           .summary = "make, close and read job records",
                           .description = "A job record is a directory with a manifest and typed tables: "
                                          "what a job did, sample by sample, on each of its nodes."});
    application.add_group(
        {.name = "record import",
         .summary = "make records of what other tools recorded",
         .description = "A recording becomes a job record that can be queried, scored and reported like any "
                        "other. Problems are reported and kept in the record."});
    application.add_group(
        {.name = "env",
         .summary = "the environments of jobs: images, mounts, variables",
         .description =
             "An environment is a TOML file (EDF) that names an image and what to mount and set in it."});
    application.add_group(
        {.name = "vet",
         .summary = "check nodes before a job starts on them",
         .description = "A protocol is a YAML file that names checks. A node is fit if each of its essential "
                        "checks was measured and passed; a check that could not be measured never passes."});
    application.add_group({.name = "stage",
                           .summary = "data where the GPUs are, packed the way they are read",
                           .description = "Says what reading data costs where they lie, packs many files "
                                          "into few, copies them to the nodes of a job, and "
                                          "advises on checkpoints and layout."});
    application.add_group({.name = "bench", .summary = "measure a machine with real scientific training"});
    for (auto add : kCommands) add(application);
}

}  // namespace belay::cli
