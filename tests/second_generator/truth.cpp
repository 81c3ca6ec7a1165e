#include "make_job.h"
#include "reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace belay::second_generator {

std::string truth_header() {
    return "job\tkind\tfaults\tstrength\tnoticeable\tonset_"
           "seconds\taffected\tconfounders\tfollows\tend\tseconds\tnodes\ttasks\tgpus\t"
           "reports\ttruth\n";
}

std::string truth_row(const Made& made) {
    std::vector<std::string> names, strengths, bands, onsets, places, follows, truths;
    for (const Fault& fault : made.faults) {
        names.push_back(fault.cause->name);
        strengths.push_back(fmt::format("{:.3g} {}", fault.strength, fault.unit));
        bands.push_back(name_of(fault.band));
        onsets.push_back(fmt::format("{:.1f}", fault.drawn.onset));
        places.push_back(fault.drawn.where);
        follows.push_back(fault.drawn.follows);
        truths.push_back(fault.drawn.truth);
    }
    const bool sound = made.faults.empty();
    const Job& job = made.job;
    return fmt::format("{:03}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.0f}\t{}\t{}\t{}\t{}\t{}\n", job.number,
                       job.kind, sound ? "-" : fmt::format("{}", fmt::join(names, ",")),
                       sound ? "-" : fmt::format("{}", fmt::join(strengths, ", ")),
                       sound ? "-" : fmt::format("{}", fmt::join(bands, ",")),
                       sound ? "-" : fmt::format("{}", fmt::join(onsets, ",")),
                       sound ? "-" : fmt::format("{}", fmt::join(places, ", ")),
                       job.confounders.empty() ? "-" : fmt::format("{}", fmt::join(job.confounders, ", ")),
                       sound ? "-" : fmt::format("{}", fmt::join(follows, " | ")),
                       job.shape.in_slurm ? name_of(made.timeline.how) : "-", made.timeline.end,
                       job.shape.nodes, job.shape.tasks, job.shape.gpus, job.report.exists ? "yes" : "no",
                       sound ? "Nothing is wrong." : fmt::format("{}", fmt::join(truths, " ")));
}

std::string vocabulary() {
    std::string text;
    for (const Cause* cause : all_causes()) text += fmt::format("{}\t{}\n", cause->name, cause->sentence);
    return text;
}

}  // namespace belay::second_generator
