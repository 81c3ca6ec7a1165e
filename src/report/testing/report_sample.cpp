// Writes the page of made-up measurements: report_sample training|hostile|bare|large|gpu1|gpu16|gpu1024
// OUTPUT.html
#include "core/file.h"
#include "report/page.h"
#include "report/pdf/pdf.h"
#include "report/terminal.h"
#include "report/testing/synthetic.h"
#include "report/testing/synthetic_gpu.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace {

using namespace belay::report;

constexpr double kDay = 86'400;

ReportModel sample(std::string_view which) {
    if (which == "hostile") return assemble(synthetic_hostile());
    if (which == "bare") return assemble(synthetic_bare());
    if (which == "large") return assemble(synthetic_large(1000));
    if (which == "gpu1") return synthetic_gpu_job(1, 1, 600);
    if (which == "gpu16") return synthetic_gpu_job(4, 4, 3600);
    if (which == "gpu1024") return synthetic_gpu_job(256, 4, kDay);
    return assemble(synthetic_training());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs(
            "usage: report_sample training|hostile|bare|large|gpu1|gpu16|gpu1024 OUTPUT.html|OUTPUT.pdf\n",
            stderr);
        return 2;
    }
    ReportModel model = sample(argv[1]);
    std::string_view output = argv[2];
    auto bytes = output.ends_with("proposal.pdf") ? render_proposal(model)
                 : output.ends_with(".pdf")       ? render_pdf(model)
                                                  : belay::core::Result<std::string>(render_html(model));
    auto written = bytes ? belay::core::replace_file(argv[2], *bytes)
                         : belay::core::Result<>(std::unexpected(bytes.error()));
    if (!written) {
        std::fputs(written.error().render().c_str(), stderr);
        return written.error().exit_status();
    }
    std::fputs(render_terminal(model, false, 100).c_str(), stdout);
    return 0;
}
