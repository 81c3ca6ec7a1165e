#include "slurm/auth_info.h"

#include "core/file.h"
#include "core/text.h"
#include "slurm/job.h"

namespace belay::slurm {

namespace {

constexpr size_t kMostBytes = size_t{16} << 20;

// "VALUE" of a line `Key = VALUE # comment`; keys are in any case.
std::string_view value_of(std::string_view line, std::string_view lower_case_key) {
    line = core::trim(line.substr(0, line.find('#')));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos ||
        core::lower_case(core::trim(line.substr(0, equals))) != lower_case_key)
        return {};
    std::string_view value = core::trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
    return value;
}

}  // namespace

std::string munge_socket_in(std::string_view slurm_conf) {
    constexpr std::string_view kSocket = "socket=";
    std::string found;
    for (std::string_view line : core::split(slurm_conf, '\n'))
        for (std::string_view word : core::split(value_of(line, "authinfo"), ','))
            if (const std::string_view setting = core::trim(word);
                core::lower_case(setting).starts_with(kSocket))
                found = setting.substr(kSocket.size());
    return found;
}

std::string munge_socket_of_slurm() {
    const auto named = process_environment()("SLURM_CONF");
    const auto text =
        core::read_file(named && !named->empty() ? *named : "/etc/slurm/slurm.conf", kMostBytes);
    return text ? munge_socket_in(*text) : "";
}

}  // namespace belay::slurm
