// What vetting found: a status for every check, a verdict for every node, one for the step.
#pragma once

#include "core/error.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::vet {

// From best to worst.
enum class Status {
    kPass,         // measured, criterion met
    kUnsupported,  // the type, or a device or library it needs, is absent here
    kFail,         // measured, criterion not met
    kError,        // could not be measured
    kMissing,      // no report by the deadline
};

enum class Severity { kEssential, kWarning };  // a warning is reported and convicts nobody

std::string_view status_name(Status status);
std::optional<Status> status_of_name(std::string_view name);
std::string_view severity_name(Severity severity);

// Why a check has its status: what was found, in words; or what failed, whole.
class Reason {
  public:
    Reason() = default;
    Reason(std::string words) : what_(std::move(words)) {}      // NOLINT(google-explicit-constructor)
    Reason(const char* words) : what_(words) {}                 // NOLINT(google-explicit-constructor)
    Reason(core::Error failure) : what_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)
    Reason& operator+=(std::string_view more);

    const core::Error* failure() const { return std::get_if<core::Error>(&what_); }  // null: words
    std::string text() const;  // for people, and for the JSON that they and other programs read

  private:
    std::variant<std::string, core::Error> what_;
};

struct CheckResult {
    std::string name;
    std::string type;
    Status status = Status::kError;
    Severity severity = Severity::kEssential;
    std::string device = {};           // empty: none in particular
    std::string method = {};           // how it was measured, where there are several ways
    std::optional<int64_t> cpus = {};  // that took part, where it is about CPUs
    std::optional<double> value = {};  // in `unit`
    std::string unit = {};
    std::optional<double> limit = {};  // what the value was compared with
    Reason reason = {};
    double seconds = 0;
};

struct NodeVerdict {
    std::string node;
    Status verdict = Status::kError;
    std::vector<CheckResult> checks = {};
    // Of the node's report: missing if there was none, an error if it was no use. A node that was not heard
    // is not fit, however little its checks count.
    Status report = Status::kPass;
    std::optional<core::Error> report_problem = {};
};

struct Verdicts {
    std::string protocol;
    bool passed = false;
    bool stopped_early = false;  // with `need`, as soon as too few nodes could still pass
    std::vector<NodeVerdict> nodes = {};
    std::vector<std::string> vetted = {};
    std::vector<std::string> cordoned = {};

    // 0 passed, 1 not, 4 stopped early.
    int exit_status() const { return passed ? 0 : stopped_early ? 4 : 1; }
};

// The worst status of the essential checks; a node with only warnings passes, one without checks is an error.
Status node_verdict(std::span<const CheckResult> checks);

// Fills in each node's verdict, the worse of its checks' and of its report's status, the two lists, and
// whether all nodes passed, or at least `need`. With no nodes nothing has passed.
Verdicts judge(std::string protocol, std::vector<NodeVerdict> nodes, std::optional<size_t> need);

// Whether `need` nodes can still pass when those that are not decided yet all did.
bool can_still_pass(size_t passed, size_t pending, size_t need);

// One node name per line, as srun --nodelist=FILE and --exclude=FILE take them.
std::string host_file(std::span<const std::string> nodes);

}  // namespace belay::vet
