// The dense half of a fused iteration: [h, statistics] -> projection -> LayerNorm -> ReLU -> shortcut, and the way back.
//
// PNA's three scalers are folded into the projection: W_0 + s_v W_1 + W_2 / max(s_v, 0.01) is one matrix for each degree,
// so the 12 d features are never built, and rows in the order of degree share it.
#pragma once

#include "fused_norm.hpp"
#include "fused_weights.hpp"

namespace nbfnet::NBFNET_ISA {

inline constexpr int64_t tile_rows = 48;
inline constexpr double least_scale = 0.01;

// One thread's tile: its rows on the way forward, and back again.
template <class Scalar, int Scalers>
class TileLayer {
  public:
    TileLayer(const Layer<Scalar> &layer, const PackedWeights<Scalar, Scalers> &weights)
        : l(layer), w(weights), norm(layer), own(tile_rows * w.dim_padded), statistics(tile_rows * w.width_padded),
          projected(tile_rows * w.dim_padded), grad(tile_rows * w.dim_padded),
          grad_statistics(tile_rows * w.width_padded), grad_own(tile_rows * w.dim_padded), scale(tile_rows),
          combined(w.width * w.dim_padded), combined_back(w.dim * w.width_padded), run_sum(w.dim * w.width_padded) {}

    Scalar *own_row(int64_t i) { return own.data() + i * w.dim_padded; }
    Scalar *statistics_row(int64_t i) { return statistics.data() + i * w.width_padded; }
    Scalar *grad_row(int64_t i) { return grad.data() + i * w.dim_padded; }
    Scalar *grad_own_row(int64_t i) { return grad_own.data() + i * w.dim_padded; }
    Scalar *grad_statistics_row(int64_t i) { return grad_statistics.data() + i * w.width_padded; }
    void set_scale(int64_t i, Scalar s) { scale[i] = s; }

    // y = W_self h + W_degree statistics + b
    void project(int64_t rows) {
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t o = 0; o < w.dim; ++o) projected[i * w.dim_padded + o] = l.bias[o];
        multiply_add<Scalar>(rows, w.dim, w.dim, own.data(), w.dim_padded, w.self.data(), w.dim_padded,
                             projected.data(), w.dim_padded);
        each_run(rows, [&](int64_t begin, int64_t end) {
            multiply_add<Scalar>(end - begin, w.dim, w.width, statistics_row(begin), w.width_padded, matrix(scale[begin]),
                                 w.dim_padded, projected.data() + begin * w.dim_padded, w.dim_padded);
        });
    }

    // out = shortcut h + ReLU(LayerNorm(y))
    void finish(int64_t i, Scalar *out) const {
        norm.forward(projected.data() + i * w.dim_padded, own.data() + i * w.dim_padded, out);
    }

    // From the gradient of the rows (in grad_row) to that of y (in place), of h (grad_own) and of the statistics.
    void backward(int64_t rows, WeightSums<Scalar, Scalers> &sums) {
        for (int64_t i = 0; i < rows; ++i)
            norm.backward(projected.data() + i * w.dim_padded, grad_row(i), grad_own_row(i), sums);
        std::memset(grad_statistics.data(), 0, rows * w.width_padded * sizeof(Scalar));
        multiply_add<Scalar>(rows, w.dim, w.dim, grad.data(), w.dim_padded, w.self_back.data(), w.dim_padded,
                             grad_own.data(), w.dim_padded);
        multiply_add<Scalar, true>(w.dim, w.dim, rows, grad.data(), w.dim_padded, own.data(), w.dim_padded,
                                   sums.self.data(), w.dim_padded);
        each_run(rows, [&](int64_t begin, int64_t end) {
            multiply_add<Scalar>(end - begin, w.width, w.dim, grad_row(begin), w.dim_padded, matrix_back(scale[begin]),
                                 w.width_padded, grad_statistics_row(begin), w.width_padded);
            begin_sum(scale[begin], sums);
            multiply_add<Scalar, true>(w.dim, w.width, end - begin, grad_row(begin), w.dim_padded, statistics_row(begin),
                                       w.width_padded, run_sum.data(), w.width_padded);
        });
    }

    // What the last run of rows has summed up goes into the gradient of each scaler's matrix.
    void flush(WeightSums<Scalar, Scalers> &sums) {
        if (!summing) return;
        Scalar factor[3];
        factors(sum_scale, factor);
        for (int s = 0; s < Scalers; ++s)
            for (int64_t i = 0; i < w.dim * w.width_padded; ++i) sums.features[s][i] += factor[s] * run_sum[i];
        summing = false;
    }

  private:
    template <class Do>
    void each_run(int64_t rows, Do &&work) {
        for (int64_t begin = 0, end; begin < rows; begin = end) {
            end = begin + 1;
            while (end < rows && (Scalers == 1 || scale[end] == scale[begin])) ++end;
            work(begin, end);
        }
    }

    static void factors(Scalar s, Scalar (&factor)[3]) {
        factor[0] = 1;
        factor[1] = s;
        factor[2] = 1 / (s > Scalar(least_scale) ? s : Scalar(least_scale));
    }

    const Scalar *matrix(Scalar s) { return combine(s, w.features, combined, combined_scale); }
    const Scalar *matrix_back(Scalar s) { return combine(s, w.features_back, combined_back, combined_back_scale); }

    static const Scalar *combine(Scalar s, const Buffer<Scalar> (&parts)[Scalers], Buffer<Scalar> &into,
                                 Scalar &into_scale) {
        if constexpr (Scalers == 1) {
            return parts[0].data();
        } else {
            if (!(into_scale == s)) {
                Scalar f[3];
                factors(s, f);
                const Scalar *a = parts[0].data(), *b = parts[1].data(), *c = parts[2].data();
                Scalar *to = into.data();
                const int64_t size = into.size();
                for (int64_t i = 0; i < size; ++i) to[i] = a[i] + f[1] * b[i] + f[2] * c[i];
                into_scale = s;
            }
            return into.data();
        }
    }

    void begin_sum(Scalar s, WeightSums<Scalar, Scalers> &sums) {
        if (summing && (Scalers == 1 || s == sum_scale)) return;
        flush(sums);
        run_sum.clear_to_zero();
        sum_scale = s;
        summing = true;
    }

    const Layer<Scalar> &l;
    const PackedWeights<Scalar, Scalers> &w;
    const FusedNorm<Scalar> norm;
    Buffer<Scalar> own, statistics, projected;         // (row, dim), (row, width), (row, dim), all padded
    Buffer<Scalar> grad, grad_statistics, grad_own;
    Buffer<Scalar> scale;                              // (row)
    Buffer<Scalar> combined, combined_back, run_sum;
    Scalar combined_scale = __builtin_nan(""), combined_back_scale = __builtin_nan(""), sum_scale = 0;
    bool summing = false;
};

}  // namespace nbfnet::NBFNET_ISA
