// The dense half of a fused iteration: [h, statistics] -> projection -> LayerNorm -> ReLU -> shortcut, and the backward
// pass.
//
// PNA's three scalers are folded into the projection: W_0 + s_v W_1 + W_2 / max(s_v, 0.01) is one matrix for each
// degree, so the 12 d features are never built, and rows in the order of degree share it.
#pragma once

#include "fused/norm.hpp"
#include "fused/weights.hpp"

namespace nbfnet::NBFNET_ISA {

inline constexpr int64_t tile_rows = 48;
inline constexpr double least_scale = 0.01;

// One thread's tile, forward and backward.
template <class Scalar>
class TileLayer {
  public:
    TileLayer(const Layer<Scalar> &layer, const PackedWeights<Scalar> &weights)
        : l_(layer),
          w_(weights),
          norm_(layer),
          own_(tile_rows * w_.dim_padded),
          statistics_(tile_rows * w_.width_padded),
          projected_(tile_rows * w_.dim_padded),
          grad_(tile_rows * w_.dim_padded),
          grad_statistics_(tile_rows * w_.width_padded),
          grad_own_(tile_rows * w_.dim_padded),
          scale_(tile_rows),
          combined_(w_.width * w_.dim_padded),
          combined_back_(w_.dim * w_.width_padded),
          run_sum_(w_.dim * w_.width_padded) {}

    Scalar *own_row(int64_t i) { return own_.data() + i * w_.dim_padded; }
    Scalar *statistics_row(int64_t i) { return statistics_.data() + i * w_.width_padded; }
    Scalar *grad_row(int64_t i) { return grad_.data() + i * w_.dim_padded; }
    Scalar *grad_own_row(int64_t i) { return grad_own_.data() + i * w_.dim_padded; }
    Scalar *grad_statistics_row(int64_t i) { return grad_statistics_.data() + i * w_.width_padded; }
    void set_scale(int64_t i, Scalar s) { scale_[i] = s; }

    // y = W_self h + W_degree statistics + b
    void project(int64_t rows) {
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t o = 0; o < w_.dim; ++o) projected_[i * w_.dim_padded + o] = l_.bias[o];
        multiply_add<Scalar>(rows, w_.dim, w_.dim, own_.data(), w_.dim_padded, w_.self.data(), w_.dim_padded,
                             projected_.data(), w_.dim_padded);
        each_run(rows, [&](int64_t begin, int64_t end) {
            multiply_add<Scalar>(end - begin, w_.dim, w_.width, statistics_row(begin), w_.width_padded,
                                 matrix(scale_[begin]), w_.dim_padded, projected_.data() + begin * w_.dim_padded,
                                 w_.dim_padded);
        });
    }

    // out = shortcut h + ReLU(LayerNorm(y))
    void finish(int64_t i, Scalar *out) const {
        norm_.forward(projected_.data() + i * w_.dim_padded, own_.data() + i * w_.dim_padded, out);
    }

    // From the gradient of the rows (in grad_row) to that of y (in place), of h (in grad_own_row) and of the
    // statistics.
    void backward(int64_t rows, WeightSums<Scalar> &sums) {
        for (int64_t i = 0; i < rows; ++i)
            norm_.backward(projected_.data() + i * w_.dim_padded, grad_row(i), grad_own_row(i), sums);
        std::memset(grad_statistics_.data(), 0, rows * w_.width_padded * sizeof(Scalar));
        multiply_add<Scalar>(rows, w_.dim, w_.dim, grad_.data(), w_.dim_padded, w_.self_back.data(), w_.dim_padded,
                             grad_own_.data(), w_.dim_padded);
        multiply_add<Scalar, true>(w_.dim, w_.dim, rows, grad_.data(), w_.dim_padded, own_.data(), w_.dim_padded,
                                   sums.self.data(), w_.dim_padded);
        each_run(rows, [&](int64_t begin, int64_t end) {
            multiply_add<Scalar>(end - begin, w_.width, w_.dim, grad_row(begin), w_.dim_padded,
                                 matrix_back(scale_[begin]), w_.width_padded, grad_statistics_row(begin),
                                 w_.width_padded);
            begin_sum(scale_[begin], sums);
            multiply_add<Scalar, true>(w_.dim, w_.width, end - begin, grad_row(begin), w_.dim_padded,
                                       statistics_row(begin), w_.width_padded, run_sum_.data(), w_.width_padded);
        });
    }

    // What the last run of rows has summed up goes into the gradient of each scaler's matrix.
    void flush(WeightSums<Scalar> &sums) {
        if (!summing_) return;
        Scalar factor[3];
        factors(sum_scale_, factor);
        for (int s = 0; s < w_.scalers; ++s)
            for (int64_t i = 0; i < w_.dim * w_.width_padded; ++i) sums.features[s][i] += factor[s] * run_sum_[i];
        summing_ = false;
    }

  private:
    template <class Do>
    void each_run(int64_t rows, Do &&work) {
        for (int64_t begin = 0, end; begin < rows; begin = end) {
            end = begin + 1;
            while (end < rows && (w_.scalers == 1 || scale_[end] == scale_[begin])) ++end;
            work(begin, end);
        }
    }

    static void factors(Scalar s, Scalar (&factor)[3]) {
        factor[0] = 1;
        factor[1] = s;
        factor[2] = 1 / (s > Scalar(least_scale) ? s : Scalar(least_scale));
    }

    const Scalar *matrix(Scalar s) { return combine(s, w_.features, combined_, combined_scale_); }
    const Scalar *matrix_back(Scalar s) { return combine(s, w_.features_back, combined_back_, combined_back_scale_); }

    const Scalar *combine(Scalar s, const AlignedArray<Scalar> (&parts)[most_scalers], AlignedArray<Scalar> &into,
                          Scalar &into_scale) const {
        if (w_.scalers == 1) return parts[0].data();
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

    void begin_sum(Scalar s, WeightSums<Scalar> &sums) {
        if (summing_ && (w_.scalers == 1 || s == sum_scale_)) return;
        flush(sums);
        run_sum_.clear_to_zero();
        sum_scale_ = s;
        summing_ = true;
    }

    const Layer<Scalar> &l_;
    const PackedWeights<Scalar> &w_;
    const Norm<Scalar> norm_;
    AlignedArray<Scalar> own_, statistics_, projected_;  // (row, dim), (row, width), (row, dim), all padded
    AlignedArray<Scalar> grad_, grad_statistics_, grad_own_;
    AlignedArray<Scalar> scale_;  // (row)
    AlignedArray<Scalar> combined_, combined_back_, run_sum_;
    Scalar combined_scale_ = __builtin_nan(""), combined_back_scale_ = __builtin_nan(""), sum_scale_ = 0;
    bool summing_ = false;
};

}  // namespace nbfnet::NBFNET_ISA
