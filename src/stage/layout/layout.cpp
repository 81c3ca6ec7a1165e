#include "stage/layout/layout.h"

#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <array>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSmall = 4 * kMiB;
constexpr uint64_t kLarge = 64 * kMiB;
constexpr uint64_t kMostStripes = 32;
constexpr uint64_t kStripesOfAnOst = 4;
constexpr uint64_t kEverySize = ~uint64_t{0};

constexpr std::array<std::string_view, 4> kAccessNames = {"sequential", "image", "per-rank", "random"};

uint64_t one(const LayoutInput&) {
    return 1;
}
uint64_t four(const LayoutInput& input) {
    return std::min<uint64_t>(4, input.osts);
}
uint64_t wide(const LayoutInput& input) {
    return std::min(kMostStripes, input.osts);
}
// So that the files of all ranks together put about four stripes on each OST.
uint64_t shared_out(const LayoutInput& input) {
    const uint64_t wanted = input.osts > kEverySize / kStripesOfAnOst
                                ? kMostStripes
                                : (kStripesOfAnOst * input.osts + input.clients - 1) / input.clients;
    return std::clamp<uint64_t>(wanted, 1, wide(input));
}

struct Rule {
    LayoutAccess access;
    uint64_t below;  // bytes of a file: the first row of its access that is above
    uint64_t (*stripes)(const LayoutInput& input);
    uint64_t stripe_bytes;
    std::string_view reason;
    std::string_view note;
};
constexpr std::string_view kBroadcastNote =
    "belay stage copy brings it to the nodes' own disks, with one read of the file system";
constexpr std::string_view kPackNote =
    "a file of this size costs more to find and open than to read; belay stage scan says whether packing is "
    "worth it";
constexpr std::string_view kFlashNote = "put it on flash: disks do not keep up with random reads";
constexpr std::array<Rule, 9> kRules = {{
    {LayoutAccess::kSequential, kSmall, one, kMiB, "a small file is read from one server fastest", kPackNote},
    {LayoutAccess::kSequential, kLarge, four, kMiB, "four servers are enough for a file of this size", ""},
    {LayoutAccess::kSequential, kEverySize, wide, 4 * kMiB,
     "a large file that is read in order takes the bandwidth of many servers", ""},
    {LayoutAccess::kImage, kSmall, one, kMiB, "a small file is read from one server fastest", kBroadcastNote},
    {LayoutAccess::kImage, kEverySize, wide, 4 * kMiB,
     "many nodes read it at once, so many servers share the load", kBroadcastNote},
    {LayoutAccess::kPerRank, kSmall, one, kMiB, "each rank writes a small file", kPackNote},
    {LayoutAccess::kPerRank, kEverySize, shared_out, 4 * kMiB,
     "the ranks' files together use all servers, so each needs few", ""},
    {LayoutAccess::kRandom, kSmall, one, kMiB, "a read of less than 1 MiB is answered by one server",
     kFlashNote},
    {LayoutAccess::kRandom, kEverySize, one, kMiB,
     "a read of less than 1 MiB is answered by one server, and more stripes mean more to look up",
     kFlashNote},
}};

const Rule& rule_for(LayoutAccess access, uint64_t bytes) {
    return *std::ranges::find_if(kRules, [&](const Rule& rule) {
        return rule.access == access && (bytes < rule.below || rule.below == kEverySize);
    });
}

// As lfs takes them: K, M, G of 1024.
std::string lfs_size(uint64_t bytes) {
    if (bytes % (uint64_t{1} << 30) == 0) return fmt::format("{}G", bytes >> 30U);
    return bytes % kMiB == 0 ? fmt::format("{}M", bytes >> 20U) : fmt::format("{}K", bytes >> 10U);
}

}  // namespace

std::vector<std::string> layout_access_names() {
    return {kAccessNames.begin(), kAccessNames.end()};
}

Result<LayoutAccess> parse_layout_access(std::string_view name) {
    const auto* found = std::ranges::find(kAccessNames, name);
    if (found == kAccessNames.end())
        return core::bad_input("\"{}\" is not a kind of access", name)
            .hint(fmt::format("there are {}", core::join(layout_access_names(), ", ")));
    return static_cast<LayoutAccess>(found - kAccessNames.begin());
}

std::string_view to_text(LayoutAccess access) {
    return kAccessNames[static_cast<size_t>(access)];
}

Result<LayoutAdvice> advise_layout(const LayoutInput& input) {
    if (input.clients == 0)
        return core::bad_input("--clients 0: a file that nobody reads or writes needs no layout")
            .hint("write 1 or more");
    if (input.osts == 0)
        return core::bad_input("--osts 0: a file system has at least one")
            .hint("write how many OSTs it has; lfs osts lists them");
    LayoutAdvice advice{.pool = input.pool};
    auto add = [&](const Rule& rule, std::optional<uint64_t> end) {
        const LayoutComponent component{
            .end_bytes = end, .stripes = rule.stripes(input), .stripe_bytes = rule.stripe_bytes};
        if (!advice.components.empty() && advice.components.back().stripes == component.stripes &&
            advice.components.back().stripe_bytes == component.stripe_bytes)
            advice.components.back() = component;
        else
            advice.components.push_back(component);
    };
    if (input.file_bytes) {
        const Rule& rule = rule_for(input.access, *input.file_bytes);
        add(rule, std::nullopt);
        advice.reasons.emplace_back(rule.reason);
        if (!rule.note.empty()) advice.notes.emplace_back(rule.note);
        return advice;
    }
    for (const Rule& rule : kRules)
        if (rule.access == input.access)
            add(rule, rule.below == kEverySize ? std::nullopt : std::optional(rule.below));
    advice.reasons.emplace_back(advice.components.size() > 1
                                    ? "sizes are not known: the layout of a file grows with it"
                                    : rule_for(input.access, kEverySize - 1).reason);
    const Rule& last = rule_for(input.access, kEverySize - 1);
    if (!last.note.empty()) advice.notes.emplace_back(last.note);
    return advice;
}

std::vector<std::string> layout_command(const LayoutAdvice& advice, const std::filesystem::path& path,
                                        bool migrate) {
    std::vector<std::string> argv = {"lfs", migrate ? "migrate" : "setstripe"};
    for (const LayoutComponent& component : advice.components) {
        if (advice.components.size() > 1) {
            argv.emplace_back("-E");
            argv.push_back(component.end_bytes ? lfs_size(*component.end_bytes) : "-1");
        }
        argv.insert(argv.end(),
                    {"-c", std::to_string(component.stripes), "-S", lfs_size(component.stripe_bytes)});
        if (!advice.pool.empty()) argv.insert(argv.end(), {"-p", advice.pool});
    }
    // A name that begins with "-" is not an option.
    const std::string name = path.string();
    argv.push_back(name.starts_with('-') ? "./" + name : name);
    return argv;
}

}  // namespace belay::stage
