#include "progress/known_patterns.h"

namespace belay::progress {

namespace {

// A number as programs print it, or that it is none.
#define NUMBER R"([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|NaN|inf|Infinity))"

#define RATE R"(\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)"

constexpr KnownShape kShapes[] = {
    {"Megatron-LM",
     " iteration      122/  250000 | consumed samples:  62464 | elapsed time per iteration (ms): 4123.1 | "
     "learning rate: 1.500E-05 | global batch size:   512 | lm loss: 7.012345E+00 | grad norm: 1.234 |",
     R"(\biteration +(?P<step>\d+)/ *(?P<total>\d+) \|.*?elapsed time per iteration \(ms\): (?P<milliseconds>[\d.]+))"
     R"((?:.*?learning rate: (?P<learning_rate>)" NUMBER R"())?.*?\bloss: (?P<loss>)" NUMBER
     R"()(?:.*?grad norm: (?P<gradient_norm>)" NUMBER R"())?)"},
    {"torchtitan",
     "step:  4  loss:  7.9871  grad_norm:  2.1  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 411.2  mfu: "
     "13.99%",
     R"(\bstep: +(?P<step>\d+) +loss: +(?P<loss>)" NUMBER R"()(?: +grad_norm: +(?P<gradient_norm>)" NUMBER
     R"())?.*?\btps: +(?P<tokens_per_second>[\d,]+))"},
    {"Hugging Face Trainer", "{'loss': 2.3026, 'grad_norm': 1.5, 'learning_rate': 4.9e-05, 'epoch': 0.02}",
     R"('loss': '?(?P<loss>)" NUMBER R"()'?,(?: 'grad_norm': '?(?P<gradient_norm>)" NUMBER
     R"()'?,)?(?: 'learning_rate': '?(?P<learning_rate>)" NUMBER R"()'?,)?.*?'epoch': '?(?P<epoch>[\d.]+))"},
    {"nanoGPT", "iter 10: loss 3.2145, time 512.33ms, mfu 3.90%",
     R"(\biter (?P<step>\d+): loss (?P<loss>)" NUMBER R"(), time (?P<milliseconds>[\d.]+)ms)"},
    {"PyTorch's examples (ImageNet)",
     "Epoch: [0][  10/1251]\tTime  0.312 ( 0.534)\tData  0.001 ( 0.120)\tLoss 6.9e+00 (7.0e+00)",
     R"(Epoch: \[(?P<epoch>\d+)\]\[ *(?P<step>\d+)/ *\d+\].*?\bLoss (?P<loss>)" NUMBER R"())"},
    {"PyTorch's examples (MNIST)", "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300000",
     R"(Train Epoch: (?P<epoch>\d+) \[(?P<samples>\d+)/\d+.*?\bLoss: (?P<loss>)" NUMBER R"())"},
    {"tqdm, with a loss", "training:  12%|#2  | 797/6400 [01:00<07:02, 13.27it/s, loss=0.710]",
     R"(\b(?P<step>\d+)(?:/(?P<total>\d+)|it) \[[\d:]+(?:<[\d:?]+)?, *(?:(?P<steps_per_second>[\d.]+)it/s|(?P<seconds>[\d.]+)s/it|\?it/s))"
     R"(.*?(?:\b|train_)loss=(?P<loss>)" NUMBER R"())"},
    {"lines of JSON, of an evaluation", R"({"event": "eval", "step": 100, "loss": 0.9})",
     R"re(\{.*?"(?:event|phase|split|mode|stage|kind|type)" *: *"(?:eval|val|valid|validation|test)".*?)re"
     R"re("(?:\w+_)?loss" *: *(?P<metric>)re" NUMBER ")"},
    {"lines of JSON", R"({"event": "train", "step": 4160, "loss": 0.5698})",
     R"re(\{.*?"(?:global_)?(?:step|iter|iteration)" *: *(?P<step>\d+)\b.*?"(?:train_)?loss" *: *(?P<loss>)re" NUMBER
     ")"},
    {"lines of JSON, the loss first", R"({"loss": 0.5698, "step": 4160})",
     R"re(\{.*?"(?:train_)?loss" *: *(?P<loss>)re" NUMBER
     R"re().*?"(?:global_)?(?:step|iter|iteration)" *: *(?P<step>\d+)\b)re"},
    {"with an epoch and a step", "Epoch 1/3, step 20, loss=0.4321",
     R"((?i)\bepoch[:= ]*\[?(?P<epoch>\d+)(?:[/ ]+\d+)?\]?[^\w]+(?:step|iter|iteration|batch)[:= ]*\[?(?P<step>\d+))"
     R"(.*?(?:\b|train_)loss[:= ]+(?P<loss>)" NUMBER R"())"},
    {"with a step", "step 20/1000: train loss 0.4321, 12,500 tokens/s",
     R"((?i)\b(?:step|iter|iteration|round)[:= ]*\[?(?P<step>\d+)(?: */ *(?P<total>\d+))?\b.*?(?:\b|train_)loss[:= ]+(?P<loss>)" NUMBER
     R"()(?:.*?[ :=(,|](?:(?P<tokens_per_second>)" RATE R"() *tok(?:en)?s?/s|(?P<samples_per_second>)" RATE
     R"() *(?:samples?|images?|imgs?|examples?|sequences?)/s)(?:ec)?\b)?)"},
    {"with a step and a rate", "step 2310  mse 0.00001  44.49 steps/s",
     R"((?i)\b(?:step|iter|iteration|round)[:= ]*\[?(?P<step>\d+)(?: */ *(?P<total>\d+))?\b.*?)"
     R"([ :=(,|](?P<steps_per_second>)" RATE R"() *(?:steps?|it|iters?|iterations?)/s\b)"},
    // Three digits behind the point, or a name with an underscore: "Step 1: Python 3.11" is not progress.
    {"with a step and a quantity", "iter 20 mean_episode_length 12.34",
     R"((?i)\b(?:step|iter|iteration|round)[:= ]*\[?(?P<step>\d+)(?: */ *(?P<total>\d+))?[]:,| ]+)"
     R"((?:[a-z]+[:= ]+[-+]?\d+\.\d{3}|[a-z]+_[a-z_]*[:= ]+[-+]?\d+\.\d))"},
};

#undef RATE
#undef NUMBER

}  // namespace

std::span<const KnownShape> known_shapes() {
    return kShapes;
}

core::Result<std::vector<Pattern>> patterns_for(std::span<const std::string> own) {
    if (!own.empty()) return compile_patterns(own);
    std::vector<std::string> known;
    for (const KnownShape& shape : kShapes) known.emplace_back(shape.expression);
    return compile_patterns(known);
}

}  // namespace belay::progress
