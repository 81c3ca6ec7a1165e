// The two generations of gssr; import_gssr() looks which of them a source is.
#pragma once

#include "record/import/gssr_layout.h"
#include "record/import/import.h"

namespace belay::record {

core::Result<Imported> import_gssr_csv(const ImportOptions& options, const GssrLayout& layout);
core::Result<Imported> import_gssr_json(const ImportOptions& options, const GssrLayout& layout);

}  // namespace belay::record
