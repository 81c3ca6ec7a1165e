// Made-up measurements that look like a real job's, always the same, for tests of everything after the
// queries.
#pragma once

#include "report/measurements.h"

namespace belay::report {

// Two nodes, four ranks, three minutes of CosmoFlow that reach the target 0.13; six seconds of nid002 are
// missing.
Measurements synthetic_training();

// As above, but every text in it tries to break out of where it stands.
Measurements synthetic_hostile();

// No training lines, no job processes, no pressure: what a node without PSI and a silent program give.
Measurements synthetic_bare();

// 0 to 1, the same for the same arguments everywhere (SplitMix64).
double noise(uint64_t seed, uint64_t index);

// `nodes` nodes; one of them is slow, some have gaps.
Measurements synthetic_large(size_t nodes, double seconds = 3600);

}  // namespace belay::report
