// The weights of a fused iteration's layer, laid out for the products of both directions, and the sums of their
// gradients.
#pragma once

#include "fused/iteration.hpp"
#include "memory/aligned_array.hpp"
#include "simd/small_matrix.hpp"

namespace nbfnet::NBFNET_ISA {

inline constexpr int most_scalers = 3;  // of PNA; other aggregates have one

template <class Scalar>
struct PackedWeights {
    int scalers;
    int64_t dim, statistics, width, dim_padded, width_padded;  // width = statistics * dim
    AlignedArray<Scalar> self, self_back;                      // (dim in, dim out padded), (dim out, dim in padded)
    AlignedArray<Scalar> features[most_scalers];               // (width, dim out padded)
    AlignedArray<Scalar> features_back[most_scalers];          // (dim out, width padded)

    PackedWeights(const Layer<Scalar> &layer, int64_t statistics, int scalers)
        : scalers(scalers),
          dim(layer.dim),
          statistics(statistics),
          width(dim * statistics),
          dim_padded(padded<Scalar>(dim)),
          width_padded(padded<Scalar>(width)) {
        self.resize(dim * dim_padded);
        self_back.resize(dim * dim_padded);
        for (int s = 0; s < scalers; ++s) {
            features[s].resize(width * dim_padded);
            features_back[s].resize(dim * width_padded);
        }
        const int64_t columns = dim + width * scalers;
        for (int64_t o = 0; o < dim; ++o) {
            const Scalar *row = layer.weight + o * columns;
            for (int64_t i = 0; i < dim; ++i) self[i * dim_padded + o] = self_back[o * dim_padded + i] = row[i];
            for (int64_t i = 0; i < dim; ++i)
                for (int64_t k = 0; k < statistics; ++k)
                    for (int s = 0; s < scalers; ++s) {
                        const Scalar value = row[dim + column(i, k, s)];
                        features[s][(k * dim + i) * dim_padded + o] = value;
                        features_back[s][o * width_padded + k * dim + i] = value;
                    }
        }
    }

    // Where feature (dim i, statistic k, scaler s) stands in a row of the weight, after the first dim columns.
    int64_t column(int64_t i, int64_t k, int s) const { return (i * statistics + k) * scalers + s; }
};

// Gradients of the weights, each thread's own until all are added up.
template <class Scalar>
struct WeightSums {
    AlignedArray<Scalar> self, features[most_scalers], bias, norm_weight, norm_bias;

    explicit WeightSums(const PackedWeights<Scalar> &w)
        : self(w.dim * w.dim_padded), bias(w.dim_padded), norm_weight(w.dim_padded), norm_bias(w.dim_padded) {
        for (int s = 0; s < w.scalers; ++s) features[s].resize(w.dim * w.width_padded);
    }

    void add_to(const LayerGradient<Scalar> &out, const PackedWeights<Scalar> &w, bool layer_norm) const {
        const int64_t columns = w.dim + w.width * w.scalers;
        for (int64_t o = 0; o < w.dim; ++o) {
            Scalar *row = out.weight + o * columns;
            for (int64_t i = 0; i < w.dim; ++i) row[i] += self[o * w.dim_padded + i];
            for (int64_t i = 0; i < w.dim; ++i)
                for (int64_t k = 0; k < w.statistics; ++k)
                    for (int s = 0; s < w.scalers; ++s)
                        row[w.dim + w.column(i, k, s)] += features[s][o * w.width_padded + k * w.dim + i];
            out.bias[o] += bias[o];
            if (layer_norm) {
                out.norm_weight[o] += norm_weight[o];
                out.norm_bias[o] += norm_bias[o];
            }
        }
    }
};

}  // namespace nbfnet::NBFNET_ISA
