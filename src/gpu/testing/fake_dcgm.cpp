// A library with DCGM's names for tests: two GPUs, whose values the test sets through fake_dcgm_set.
#include "gpu/dcgm_abi.h"

#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace {

using belay::gpu::dcgm::FieldValue;

std::map<std::pair<int, int>, FieldValue> values;  // by GPU and field
std::set<unsigned short> refused;                  // fields that no group may have
std::map<uintptr_t, std::set<unsigned short>> groups;
std::set<unsigned short> watched;
std::set<long long> intervals;  // of the watches, in microseconds
bool initialised = false, engine_runs = true;

int64_t now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

using namespace belay::gpu::dcgm;

// `age` in seconds. A text is a text, otherwise the type says which of the numbers counts.
void fake_dcgm_set(int gpu, int field, char type, int64_t integer, double real, const char* text,
                   double age) {
    FieldValue value{};
    value.field = static_cast<unsigned short>(field);
    value.type = static_cast<unsigned char>(type);
    value.timestamp = now() - static_cast<int64_t>(age * 1e6);
    if (type == 'i') value.value.integer = integer;
    if (type == 'd') value.value.real = real;
    if (type == 's') std::strncpy(value.value.text, text, sizeof value.value.text - 1);
    values[{gpu, field}] = value;
}
void fake_dcgm_fail(int gpu, int field, int status) {
    values[{gpu, field}].status = status;
}
void fake_dcgm_refuse(int field) {
    refused.insert(static_cast<unsigned short>(field));
}
void fake_dcgm_engine(int runs) {
    engine_runs = runs != 0;
    values.clear(), refused.clear(), groups.clear(), watched.clear(), intervals.clear();
}
// The only interval of all watches in microseconds; 0 if there are several, or none.
long long fake_dcgm_interval() {
    return intervals.size() == 1 ? *intervals.begin() : 0;
}

Return dcgmInit() {
    initialised = true;
    return kOk;
}
Return dcgmShutdown() {
    initialised = false;
    return kOk;
}
Return dcgmConnect_v2(const char* address, ConnectParameters* parameters, Handle* handle) {
    if (!initialised || parameters->version != kConnectVersion || std::string(address) != "127.0.0.1")
        return kBadParameter;
    if (!engine_runs) return kConnectionNotValid;
    *handle = 7;
    return kOk;
}
Return dcgmDisconnect(Handle handle) {
    watched.clear();
    return handle == 7 ? kOk : kBadParameter;
}
Return dcgmGetAllSupportedDevices(Handle, unsigned* ids, int* count) {
    ids[0] = 0, ids[1] = 1;
    *count = 2;
    return kOk;
}
Return dcgmFieldGroupCreate(Handle, int count, unsigned short* fields, const char* name, FieldGroup* group) {
    if (*name == '\0') return kBadParameter;
    *group = groups.size() + 1;
    groups[*group] = {fields, fields + count};
    return kOk;
}
Return dcgmWatchFields(Handle, Group gpus, FieldGroup group, long long microseconds, double keep, int) {
    // What it may drop before the next look is never there.
    if (gpus != kAllGpus || microseconds <= 0 || keep * 1e6 <= 2 * static_cast<double>(microseconds))
        return kBadParameter;
    for (unsigned short field : groups[group])
        if (refused.contains(field)) return kNotSupported;
    watched.insert(groups[group].begin(), groups[group].end());
    intervals.insert(microseconds);
    return kOk;
}
Return dcgmUpdateAllFields(Handle, int) {
    return kOk;
}
Return dcgmGetLatestValuesForFields(Handle, int gpu, unsigned short* fields, unsigned count,
                                    FieldValue* found) {
    if (!engine_runs) return kConnectionNotValid;
    for (unsigned i = 0; i < count; ++i) {
        auto value = values.find({gpu, fields[i]});
        if (value != values.end()) found[i] = value->second;
        if (value == values.end()) found[i].status = kNoData;
        if (!watched.contains(fields[i])) found[i].status = kNotWatched;
    }
    return kOk;
}
}
