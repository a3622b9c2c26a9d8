// The score as Python calls it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <utility>
#include <vector>

#include "python/checks.hpp"
#include "score/mlp.hpp"
#include "simd/instruction_set.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

using Layers = std::vector<std::pair<In<double, 2>, In<double>>>;  // weight (output, input), bias (output)

void score_mlp(In<float, 2> rows, const Layers &layers, int threads, Out<float> out) {
    expect_threads(threads);
    expect(!layers.empty(), "an MLP needs a layer");
    expect_length("out", length(out), length(rows));
    MlpCall call{{}, length(rows), rows.data(), out.data(), threads};
    int64_t inputs = length(rows, 1);
    for (const auto &[weight, bias] : layers) {
        const int64_t outputs = length(bias);
        expect_shape("weight", weight, {outputs, inputs});
        call.layers.push_back({inputs, outputs, weight.data(), bias.data()});
        inputs = outputs;
    }
    expect(inputs == 1, "the last layer has " + std::to_string(inputs) + " outputs, expected 1");
    nb::gil_scoped_release release;
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::mlp(call);
    if (instruction_set() == InstructionSet::avx2) return avx2::mlp(call);
#endif
    baseline::mlp(call);
}

}  // namespace
}  // namespace nbfnet

void bind_score(nb::module_ &m) {
    m.def("score_mlp", &nbfnet::score_mlp, "rows"_a.noconvert(), "layers"_a.noconvert(), "threads"_a,
          "out"_a.noconvert());
}
