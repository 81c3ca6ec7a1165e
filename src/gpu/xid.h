// What XIDs mean and ask for: NVIDIA's XID catalogue as a table, xid.tsv, one for all that meet XIDs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::gpu {

struct XidMeaning {
    int64_t code;
    std::string_view name;        // "GPU timeout"
    std::string_view class_name;  // what the catalogue asks for at once: "reset_gpu"
};

const std::vector<XidMeaning>& xid_table();
// Of a code that is not in the table the class is "other".
XidMeaning xid_meaning(int64_t code);

// Of events: critical where the GPU or the node has to be reset, rebooted or inspected, info where nothing
// has to be done, warning else.
std::string_view xid_severity(const XidMeaning& meaning);
// "GPU timeout; the GPU needs a reset"
std::string xid_text(const XidMeaning& meaning);

}  // namespace belay::gpu
