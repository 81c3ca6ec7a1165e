// Reports of jobreport: whatever a file holds, it is read or left out, and what is read can be told.
#include "many_parsers.h"
#include "record/import/jobreport_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay;
    auto file = record::parse_jobreport({reinterpret_cast<const char*>(data), size});
    if (!file) return 0;
    for (const record::JobreportRow& row : file->rows) {
        require(row.end >= row.start && row.gpu >= 0 && !row.host.empty());
        require(!record::summary_of(row).empty());
    }
    return 0;
}
