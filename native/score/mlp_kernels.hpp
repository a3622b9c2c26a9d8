// The MLP over blocks of rows that stay in cache: included once by each mlp_ISA.cpp.
#pragma once

#include <algorithm>

#include "memory/aligned_array.hpp"
#include "memory/parallel.hpp"
#include "score/mlp.hpp"
#include "simd/small_matrix.hpp"

namespace nbfnet::NBFNET_ISA {

inline constexpr int64_t block_rows = 60;

// A layer's matrix as (input, output), its rows padded.
class PackedLayer {
  public:
    explicit PackedLayer(const DenseLayer &layer) : l_(layer), weight_(layer.inputs * stride()) {
        for (int64_t o = 0; o < l_.outputs; ++o)
            for (int64_t i = 0; i < l_.inputs; ++i) weight_[i * stride() + o] = l_.weight[o * l_.inputs + i];
    }

    int64_t stride() const { return padded<double>(l_.outputs); }

    // (row, input), a stride apart, to (row, output)
    void apply(int64_t rows, const double *in, int64_t in_stride, double *out) const {
        for (int64_t r = 0; r < rows; ++r) std::copy_n(l_.bias, l_.outputs, out + r * stride());
        multiply_add<double>(rows, l_.outputs, l_.inputs, in, in_stride, weight_.data(), stride(), out, stride());
    }

  private:
    const DenseLayer &l_;
    AlignedArray<double> weight_;
};

void mlp(const MlpCall &call) {
    const int64_t dim = call.layers.front().inputs;
    std::vector<PackedLayer> layers;
    layers.reserve(call.layers.size());
    int64_t widest = dim;
    for (const DenseLayer &layer : call.layers) widest = std::max(widest, layers.emplace_back(layer).stride());
    parallel(call.threads, [&](int thread) {
        AlignedArray<double> in(block_rows * widest), out(block_rows * widest);
        double *from = in.data(), *to = out.data();
        for (int64_t begin = thread * block_rows; begin < call.rows; begin += call.threads * block_rows) {
            const int64_t rows = std::min(block_rows, call.rows - begin);
            std::copy_n(call.in + begin * dim, rows * dim, from);
            int64_t stride = dim;
            for (const PackedLayer &layer : layers) {
                if (&layer != &layers.front())
                    for (int64_t i = 0; i < rows * stride; ++i) from[i] = from[i] < 0 ? 0 : from[i];
                layer.apply(rows, from, stride, to);
                stride = layer.stride();
                std::swap(from, to);
            }
            for (int64_t r = 0; r < rows; ++r) call.out[begin + r] = static_cast<float>(from[r * stride]);
        }
    });
}

}  // namespace nbfnet::NBFNET_ISA
