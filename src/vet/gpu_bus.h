// GPUs that stand on the node's PCI bus and that its driver does not show.
#pragma once

#include "core/process.h"
#include "gpu/source.h"
#include "vet/catalogue.h"

#include <string>
#include <vector>

namespace belay::vet {

// Addresses ("0000:81:00.0") of NVIDIA's display controllers that are the driver's to show. Left out are
// virtual functions, those that another driver has (a virtual machine's, say), and cards for screens that no
// driver has: NVIDIA's may be too new for them. A node without a PCI bus has none. Errors: kSystem.
core::Result<std::vector<std::string>> gpus_on_bus(const NodeView& node);

// Of those, the ones that none of the `shown` devices is. Empty wherever a healthy GPU may be hidden instead:
// the job holds or sees but a part of the node, a GPU's file in /dev may not be opened, /dev is not the
// node's own (a container), or the driver does not tell addresses; so also where it cannot be told whether
// one of these holds. Errors: of gpus_on_bus().
core::Result<std::vector<std::string>> missing_gpus(const std::vector<gpu::Device>& shown, size_t held,
                                                    const core::Environment& environment,
                                                    const NodeView& node);

}  // namespace belay::vet
