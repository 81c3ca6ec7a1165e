// What XIDs mean to a job: grave ones ask for a reset, a reboot or a repair of the GPU.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::gpu {

struct XidMeaning {
    int64_t code;
    std::string_view severity;  // of events: info, warning, critical
    std::string_view text;
};

// Critical are those for which NVIDIA's XID catalogue (docs.nvidia.com/deploy/xid-errors; the spreadsheet
// that NVSentinel ships) has reset, reboot or inspection as the immediate action; 45 follows every job that
// is killed.
inline constexpr XidMeaning kXidMeanings[] = {
    {13, "warning", "exception in a kernel, usually the program's fault"},
    {31, "warning", "page fault on the GPU, usually the program's fault"},
    {32, "warning", "fault of a DMA engine"},
    {43, "warning", "channel stopped after a fault of the program"},
    {45, "info", "channels ended after the program or after an earlier error"},
    {46, "critical", "the GPU timed out"},
    {48, "critical", "memory error that could not be corrected"},
    {54, "critical", "auxiliary power is missing"},
    {62, "critical", "a controller of the GPU has halted"},
    {63, "warning", "a row of memory is to be remapped, or a page retired"},
    {64, "critical", "a row of memory could not be remapped, or a page not retired"},
    {69, "warning", "error of the graphics class, usually the program's fault"},
    {74, "critical", "NVLink error"},
    {79, "critical", "the GPU has fallen off the bus"},
    {92, "warning", "many corrected memory errors"},
    {94, "warning", "memory error, contained: it ends the program that it hit"},
    {95, "critical", "memory error, not contained: all programs of the GPU are hit"},
    {109, "critical", "a switch of context timed out"},
    {110, "critical", "security fault"},
    {119, "critical", "the GPU's firmware does not answer"},
    {120, "critical", "error of the GPU's firmware"},
    {136, "critical", "training of an NVLink failed"},
    {137, "warning", "access over NVLink that is not allowed, usually the program's fault"},
    {140, "critical", "memory error that was not recovered from"},
    {143, "critical", "the GPU could not be initialised"},
    {154, "warning", "what the GPU needs to recover has changed"},
    {156, "critical", "a part of the GPU was retired"},
    {158, "critical", "fatal timeout"},
};

constexpr XidMeaning xid_meaning(int64_t code) {
    for (const XidMeaning& meaning : kXidMeanings)
        if (meaning.code == code) return meaning;
    return {code, "warning", "see NVIDIA's XID catalogue"};
}

}  // namespace belay::gpu
