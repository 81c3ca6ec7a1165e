// Recordings of gssr: whatever a file holds, it is read or left out, and what is read can be in the record.
#include "many_parsers.h"
#include "record/import/gssr_csv.h"
#include "record/import/gssr_json.h"
#include "record/import/gssr_meta.h"
#include "schema/tables/gpu.h"

#include <cmath>

namespace {

using namespace belay;

void check(record::GssrRow row, stream::Batch& rows) {
    record::drop_impossible(row);
    record::drop_clipped(row);
    for (const record::Summary& summary : row.values)
        require(std::isnan(summary.average) || summary.average >= 0);
    record::add_gpu_row(rows, core::Time(), "n", "d", row, record::kMissing);
    for (size_t column = 3; column < rows.table().columns.size(); ++column)
        if (rows.values(column).present.back() != 0 && rows.table().columns[column].unit == "ratio")
            require(rows.values(column).reals.back() <= 1);
}

void read_csv(std::string_view text) {
    size_t end = text.find('\n');
    auto csv = record::GssrCsv::from_header(text.substr(0, end));
    stream::Batch rows(schema::kGpu);
    while (csv && end != std::string_view::npos) {
        text.remove_prefix(end + 1);
        end = text.find('\n');
        auto row = csv->parse(text.substr(0, end));
        if (!row) continue;
        require(row->timestamp >= 0 && row->gpu >= 0);
        check(*row, rows);
    }
}

void read_meta(std::string_view text) {
    record::GssrMeta meta = record::parse_gssr_meta(text);
    require(!meta.job_id || *meta.job_id > 0);
}

void read_json(std::string_view text) {
    auto read = record::parse_gssr_json(text, "file");
    if (!read) return;
    require(read->spacing_seconds() > 0);
    stream::Batch rows(schema::kGpu);
    core::Time last = core::Time::min();
    for (size_t i = 0; i < read->samples(); ++i) {
        require(read->time_of(i) >= last);
        last = read->time_of(i);
    }
    for (const auto& [gpu, series] : read->gpus)
        for (const record::GssrRow& row : series) check(row, rows);
}

constexpr void (*kParsers[])(std::string_view) = {read_csv, read_meta, read_json};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
