#include "gpu/xid.h"

#include "core/text.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

// xid.tsv, embedded
extern "C" const char belay_xid_table[], belay_xid_table_end[];

namespace belay::gpu {

namespace {

struct Class {
    std::string_view name;
    std::string_view severity;
    std::string_view need;  // in words; empty if the class alone does not tell
};

constexpr Class kClasses[] = {
    {"none", "info", "nothing has to be done at once"},
    {"restart_app", "warning", "the program has to be restarted"},
    {"reset_gpu", "critical", "the GPU needs a reset"},
    {"reboot", "critical", "the node needs a reboot"},
    {"drain_inspect", "critical", "the node has to be drained and inspected"},
    {"workflow", "warning", ""},
    {"other", "warning", ""},
};

// Where the workflow leads when nothing but the code is known (the table's notes): 45 follows every job that
// is killed, 48 and 74 are cleared by a reset.
struct Exception {
    int64_t code;
    std::string_view severity;
    std::string_view need;
};

constexpr Exception kExceptions[] = {
    {45, "info", "every killed job leaves one"},
    {48, "critical", "the GPU needs a reset"},
    {74, "critical", "the GPU needs a reset, or the node a reboot"},
};

constexpr const Class& class_of(std::string_view name) {
    auto found = std::ranges::find(kClasses, name, &Class::name);
    return found == std::end(kClasses) ? kClasses[std::size(kClasses) - 1] : *found;
}

const Exception* exception_of(int64_t code) {
    auto found = std::ranges::find(kExceptions, code, &Exception::code);
    return found == std::end(kExceptions) ? nullptr : found;
}

}  // namespace

const std::vector<XidMeaning>& xid_table() {
    static const std::vector<XidMeaning> kTable = [] {
        std::vector<XidMeaning> table;
        for (std::string_view line : core::split({belay_xid_table, belay_xid_table_end}, '\n')) {
            auto columns = core::split(line, '\t');
            if (columns.size() < 3) continue;
            if (auto code = core::parse_number<int64_t>(columns[0]))
                table.push_back({*code, columns[1], columns[2]});
        }
        return table;
    }();
    return kTable;
}

XidMeaning xid_meaning(int64_t code) {
    auto found = std::ranges::find(xid_table(), code, &XidMeaning::code);
    return found == xid_table().end() ? XidMeaning{code, "unknown", "other"} : *found;
}

std::string_view xid_severity(const XidMeaning& meaning) {
    const Exception* exception = exception_of(meaning.code);
    return exception != nullptr ? exception->severity : class_of(meaning.class_name).severity;
}

std::string xid_text(const XidMeaning& meaning) {
    if (meaning.name == "unused" || meaning.name == "unknown") return "see NVIDIA's XID catalogue";
    const Exception* exception = exception_of(meaning.code);
    std::string_view need = exception != nullptr ? exception->need : class_of(meaning.class_name).need;
    return need.empty() ? fmt::format("{}; see NVIDIA's XID catalogue", meaning.name)
                        : fmt::format("{}; {}", meaning.name, need);
}

}  // namespace belay::gpu
