#include "bench/summary/system_description.h"

#include "core/json.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>

namespace belay::bench {

namespace {

constexpr std::string_view kRequired[] = {
    "submitter",
    "division",
    "status",
    "system_name",
    "number_of_nodes",
    "host_processors_per_node",
    "host_processor_model_name",
    "host_processor_core_count",
    "host_processor_vcpu_count",
    "host_processor_frequency",
    "host_processor_caches",
    "host_processor_interconnect",
    "host_memory_capacity",
    "host_storage_type",
    "host_storage_capacity",
    "host_networking",
    "host_networking_topology",
    "host_memory_configuration",
    "accelerators_per_node",
    "accelerator_model_name",
    "accelerator_host_interconnect",
    "accelerator_frequency",
    "accelerator_on-chip_memories",
    "accelerator_memory_configuration",
    "accelerator_memory_capacity",
    "accelerator_interconnect",
    "accelerator_interconnect_topology",
    "cooling",
    "hw_notes",
    "framework",
    "other_software_stack",
    "operating_system",
    "sw_notes",
};

std::string text_of(const nlohmann::ordered_json& object, const char* field) {
    const auto found = object.find(field);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<double> number_of(const nlohmann::ordered_json& object, const char* field) {
    const auto found = object.find(field);
    if (found == object.end()) return std::nullopt;
    std::optional<double> number;
    if (found->is_number()) number = found->get<double>();
    if (found->is_string())
        number = core::parse_number<double>(core::trim(found->get_ref<const std::string&>()));
    return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

}  // namespace

std::optional<double> SystemDescription::accelerators() const {
    if (!nodes || !accelerators_per_node) return std::nullopt;
    return *nodes * std::max(*accelerators_per_node, 1.0);
}

std::optional<double> SystemDescription::units_per_node() const {
    for (const auto& each : {accelerators_per_node, host_processors_per_node})
        if (each && *each > 0) return each;
    return std::nullopt;
}

core::Result<SystemDescription> parse_system_description(std::string_view text, std::string_view file) {
    BELAY_TRY(json, core::parse_json_file(text, file));
    if (!json.is_object())
        return core::bad_input("{}: is not a JSON object", file)
            .hint("a system description is an object with the fields of MLPerf's template");
    SystemDescription system{.submitter = text_of(json, "submitter"),
                             .division = text_of(json, "division"),
                             .status = text_of(json, "status"),
                             .name = text_of(json, "system_name"),
                             .nodes = number_of(json, "number_of_nodes"),
                             .accelerators_per_node = number_of(json, "accelerators_per_node"),
                             .host_processors_per_node = number_of(json, "host_processors_per_node")};
    for (std::string_view field : kRequired)
        if (!json.contains(field)) system.missing.emplace_back(field);
    return system;
}

}  // namespace belay::bench
