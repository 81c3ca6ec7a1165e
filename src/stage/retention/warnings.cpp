// Where a policy may list more than its author means.
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/retention/survey.h"

namespace belay::stage {

namespace {

using core::format_count;

std::string in_quotes(std::string_view text) {
    return fmt::format("\"{}\"", core::printable(text));
}

void warn_of_patterns(std::vector<std::string>& warnings, const RetentionRules& rules,
                      const RetentionCounts& counts, std::string_view root) {
    if (const auto everything = rules.exemptions.of_everything()) {
        warnings.push_back(fmt::format("exempt: {} exempts all of {}",
                                       in_quotes(rules.exemptions.pattern(*everything)),
                                       core::printable(root)));
        return;
    }
    for (size_t number = 0; number < counts.patterns.size(); ++number) {
        const PatternUse& use = counts.patterns[number];
        if (use.files) continue;
        const std::string pattern = in_quotes(rules.exemptions.pattern(number));
        warnings.push_back(
            use.links ? fmt::format("exempt: {} matches symbolic links only: what they lead to is not exempt",
                                    pattern)
                      : fmt::format("exempt: {} matches nothing in {}, so it exempts nothing", pattern,
                                    core::printable(root)));
    }
}

void warn_of_owners(std::vector<std::string>& warnings, const RetentionRules& rules,
                    const RetentionCounts& counts) {
    for (const uint32_t number : rules.spared.numbers)
        if (!counts.users.contains(number))
            warnings.push_back(
                fmt::format("exempt_users: {} is nobody's number and owns no file here, so nothing is exempt "
                            "by it",
                            number));
    for (const auto& [id, user] : counts.users)
        if (is_unknown_owner(id) && user.spared && !rules.spared.exempt.contains(id))
            warnings.push_back(fmt::format(
                "{} to user {}, as whom owners are shown that are not known here: left, as exempt_users may "
                "mean them",
                format_count(user.all.files, "file belongs", "files belong"), id));
}

void warn_of_times(std::vector<std::string>& warnings, const RetentionRules& rules,
                   const RetentionCounts& counts, std::string_view root) {
    const int64_t now = core::to_nanoseconds(rules.now);
    if (is_known(counts.last_change) && age_in_days(counts.last_change, now) >= rules.policy.days)
        warnings.push_back(fmt::format(
            "by the clock of this machine it is {}, and nothing in {} has changed since {}: is the "
            "clock right?",
            core::format_time(rules.now), core::printable(root),
            core::format_time(core::time_from_nanoseconds(counts.last_change))));
    if (counts.future_times > 0)
        warnings.push_back(
            fmt::format("{} a time that is more than a day ahead of the clock of this machine: is the clock "
                        "right?",
                        format_count(counts.future_times, "file has", "files have")));
    if (counts.due_but_new.files > 0)
        warnings.push_back(
            fmt::format("{} due, {}, came here or changed less than {:g} days ago with older times, as tar "
                        "and cp -p keep "
                        "them: timestamp = \"latest\" would leave them",
                        format_count(counts.due_but_new.files, "file that is", "files that are"),
                        core::format_decimal({counts.due_but_new.bytes}), rules.policy.days));
}

}  // namespace

std::vector<std::string> warnings_of(const RetentionRules& rules, const RetentionCounts& counts,
                                     std::string_view root) {
    std::vector<std::string> warnings;
    warn_of_patterns(warnings, rules, counts, root);
    warn_of_owners(warnings, rules, counts);
    warn_of_times(warnings, rules, counts, root);
    return warnings;
}

}  // namespace belay::stage
