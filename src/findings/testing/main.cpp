// Prints how well the rules find the faults of made-up jobs: findings_precision [JOBS] [SEED]
#include "core/text.h"
#include "findings/catalogue.h"
#include "findings/testing/precision.h"

#include <cstdio>

namespace {

void print(const belay::findings::Precision& precision) {
    fmt::print("| rule | right | wrong | precision |\n|---|---|---|---|\n");
    for (const auto& [id, rule] : precision.rules)
        fmt::print("| {} | {} | {} | {:.2f} |\n", id, rule.right, rule.wrong,
                   static_cast<double>(rule.right) / (rule.right + rule.wrong));
    fmt::print("\n| fault | jobs | found | first |\n|---|---|---|---|\n");
    for (const auto& [name, fault] : precision.faults)
        fmt::print("| {} | {} | {} | {} |\n", name, fault.jobs, fault.found, fault.first);
    fmt::print("\nPrecision {:.3f} ({} right, {} wrong), recall {:.3f}.\n", precision.precision(),
               precision.right(), precision.wrong(), precision.recall());
    if (!precision.mistakes.empty()) fmt::print("\nMistakes:\n\n");
    for (const std::string& mistake : precision.mistakes) fmt::print("- {}\n", mistake);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace belay;
    int jobs = argc > 1 ? core::parse_number<int>(argv[1]).value_or(60) : 60;
    auto seed = argc > 2 ? core::parse_number<uint32_t>(argv[2]).value_or(1) : 1U;
    auto rules = findings::load_rules(findings::builtin_files());
    auto precision =
        rules ? findings::measure_precision(*rules, jobs, seed) : std::unexpected(std::move(rules.error()));
    if (!precision) {
        fmt::print(stderr, "{}", precision.error().render());
        return precision.error().exit_status();
    }
    print(*precision);
    return 0;
}
