#include "procfs/net_dev.h"

#include "core/text.h"
#include "procfs/scan.h"

namespace belay::procfs {

void parse_net_dev(std::string_view text, std::vector<NetworkDevice>& devices) {
    devices.clear();
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        size_t colon = line.rfind(':');  // old kernels write no blank behind it, and allow one in a name
        if (colon == std::string_view::npos) continue;
        NetworkDevice device;
        device.name = core::trim(line.substr(0, colon));
        if (device.name.empty()) continue;
        Words words(line.substr(colon + 1));
        for (auto& field : device.fields) field = count(words.next());
        devices.push_back(device);
    }
}

}  // namespace belay::procfs
