#include "bench/parallel/instances.h"

#include "core/text.h"

#include <algorithm>

namespace belay::bench {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kSeed = "--seed";

Result<int> count_in(const core::Environment& environment, const std::string& name, int otherwise) {
    const auto it = environment.find(name);
    if (it == environment.end() || it->second.empty()) return otherwise;
    const auto number = core::parse_number<int>(it->second);
    if (!number || *number < 1)
        return bad_input("{}: \"{}\" is not a whole number from 1 on", name, it->second);
    return *number;
}

// Takes "--seed N" and "--seed=N" out of the words; the last one counts.
Result<uint64_t> take_seed(std::vector<std::string>& words) {
    uint64_t seed = 1;
    for (size_t i = 0; i < words.size();) {
        const bool apart = words[i] == kSeed && i + 1 < words.size();
        if (!apart && !words[i].starts_with(std::string(kSeed) + "=")) {
            ++i;
            continue;
        }
        const std::string text = apart ? words[i + 1] : words[i].substr(kSeed.size() + 1);
        const auto number = core::parse_number<uint64_t>(text);
        if (!number) return bad_input("--seed: \"{}\" is not a whole number", text);
        seed = *number;
        const auto place = words.begin() + static_cast<ptrdiff_t>(i);
        words.erase(place, place + (apart ? 2 : 1));
    }
    return seed;
}

}  // namespace

Result<std::vector<Instance>> plan_instances(const core::Environment& environment, int count,
                                             const std::filesystem::path& results,
                                             std::span<const std::string> training) {
    if (!environment.contains("SLURM_JOB_ID"))
        return bad_input("--instances: this is not within an allocation of Slurm")
            .hint("salloc -N NODES -n TASKS belay bench run --instances N MODEL");
    BELAY_TRY(all_nodes, count_in(environment, "SLURM_JOB_NUM_NODES", 1));
    BELAY_TRY(all_tasks, count_in(environment, "SLURM_NTASKS", all_nodes));
    if (all_nodes % count != 0 && count % all_nodes != 0)
        return bad_input("--instances: {} cannot share {} evenly", core::format_count(count, "instance"),
                         core::format_count(all_nodes, "node"))
            .hint("give each instance the same number of nodes, or each node the same number of instances");
    if (all_tasks % count != 0)
        return bad_input("--instances: {} cannot share {} evenly", core::format_count(count, "instance"),
                         core::format_count(all_tasks, "task"))
            .hint("choose the tasks of the allocation, -n, as a multiple of the instances");
    BELAY_TRY(cpus, count_in(environment, "SLURM_CPUS_PER_TASK", 0));

    std::vector<std::string> words(training.begin(), training.end());
    BELAY_TRY(seed, take_seed(words));
    std::vector<Instance> instances;
    for (int i = 0; i < count; ++i) {
        Instance instance{.argv = {"srun", "--exact", "--kill-on-bad-exit", "--mem=0"},
                          .output = results / fmt::format("result_{}.txt", i)};
        auto& argv = instance.argv;
        argv.push_back(fmt::format("--nodes={}", std::max(1, all_nodes / count)));
        argv.push_back(fmt::format("--ntasks={}", all_tasks / count));
        if (cpus > 0) argv.push_back(fmt::format("--cpus-per-task={}", cpus));
        argv.push_back("--output=" + instance.output.string());
        argv.insert(argv.end(), words.begin(), words.end());
        argv.insert(argv.end(), {std::string(kSeed), fmt::format("{}", seed + static_cast<uint64_t>(i))});
        instances.push_back(std::move(instance));
    }
    return instances;
}

}  // namespace belay::bench
