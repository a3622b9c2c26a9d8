// The weights of a fused iteration's layer, laid out for the products of both directions, and the sums of their gradients.
#pragma once

#include "buffer.hpp"
#include "fused_iteration.hpp"
#include "small_matrix.hpp"

namespace nbfnet::NBFNET_ISA {

// A layer's weights, laid out for the products of both directions. `Scalers` is 3 with PNA, else 1.
template <class Scalar, int Scalers>
struct PackedWeights {
    int64_t dim, statistics, width, dim_padded, width_padded;  // width = statistics * dim
    Buffer<Scalar> self, self_back;    // (dim in, dim out padded), (dim out, dim in padded)
    Buffer<Scalar> features[Scalers];  // (width, dim out padded)
    Buffer<Scalar> features_back[Scalers];  // (dim out, width padded)

    PackedWeights(const Layer<Scalar> &layer, int64_t statistics_)
        : dim(layer.dim), statistics(statistics_), width(dim * statistics), dim_padded(padded<Scalar>(dim)),
          width_padded(padded<Scalar>(width)) {
        self.resize(dim * dim_padded);
        self_back.resize(dim * dim_padded);
        for (int s = 0; s < Scalers; ++s) {
            features[s].resize(width * dim_padded);
            features_back[s].resize(dim * width_padded);
        }
        const int64_t columns = dim + width * Scalers;
        for (int64_t o = 0; o < dim; ++o) {
            const Scalar *row = layer.weight + o * columns;
            for (int64_t i = 0; i < dim; ++i) self[i * dim_padded + o] = self_back[o * dim_padded + i] = row[i];
            for (int64_t i = 0; i < dim; ++i)
                for (int64_t k = 0; k < statistics; ++k)
                    for (int s = 0; s < Scalers; ++s) {
                        const Scalar value = row[dim + column(i, k, s)];
                        features[s][(k * dim + i) * dim_padded + o] = value;
                        features_back[s][o * width_padded + k * dim + i] = value;
                    }
        }
    }

    // Where feature (dim i, statistic k, scaler s) stands in a row of the weight, after the first dim columns.
    int64_t column(int64_t i, int64_t k, int s) const { return (i * statistics + k) * Scalers + s; }
};

// Gradients of the weights, each thread's own until all are added up.
template <class Scalar, int Scalers>
struct WeightSums {
    Buffer<Scalar> self, features[Scalers], bias, norm_weight, norm_bias;

    explicit WeightSums(const PackedWeights<Scalar, Scalers> &w)
        : self(w.dim * w.dim_padded), bias(w.dim_padded), norm_weight(w.dim_padded), norm_bias(w.dim_padded) {
        for (auto &matrix : features) matrix.resize(w.dim * w.width_padded);
    }

    void add_to(const LayerGradient<Scalar> &out, const PackedWeights<Scalar, Scalers> &w, bool layer_norm) const {
        const int64_t columns = w.dim + w.width * Scalers;
        for (int64_t o = 0; o < w.dim; ++o) {
            Scalar *row = out.weight + o * columns;
            for (int64_t i = 0; i < w.dim; ++i) row[i] += self[o * w.dim_padded + i];
            for (int64_t i = 0; i < w.dim; ++i)
                for (int64_t k = 0; k < w.statistics; ++k)
                    for (int s = 0; s < Scalers; ++s)
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
