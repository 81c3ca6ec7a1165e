// Whether one file of a checkpoint is whole, by its own content.
#pragma once

#include "stage/lint/checkpoint.h"

#include <map>
#include <string>

namespace belay::stage {

struct FileJudgement {
    std::string torn = {};  // why it is; empty where it is not
    std::string note = {};  // what could not be checked
};

// A file of torch.save, which is a zip archive whose members are stored as they are (since PyTorch 1.6): the
// directory at its end is there, and each member lies before it. With `checksums` each is read and compared
// with its CRC-32 there. What is no archive is torn where nothing was ever written to it, or where only
// torch.save calls its files so ("*.pt") and it holds zeros. Sizes beyond 4 GiB are those of ZIP64 (APPNOTE.TXT 6.3.10, section 4.5.3). Errors:
// of `read`.
core::Result<FileJudgement> judge_torch_file(const CheckpointFile& file, const ReadPiece& read,
                                             bool checksums);

// Where a file of safetensors ends by its own header: 8 bytes with the header's length, the header, the
// tensors. With the names of its tensors. Errors: of `read`.
struct SafetensorsFile {
    FileJudgement judgement = {};
    std::map<std::string, uint64_t> tensors = {};  // bytes
};
core::Result<SafetensorsFile> judge_safetensors_file(const CheckpointFile& file, const ReadPiece& read);

}  // namespace belay::stage
