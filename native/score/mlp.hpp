// The score of rows: an MLP with ReLU between its layers and one output, in double precision, rounded once.
//
// Every row is computed by the same operations in the same order, so equal rows have equal scores.
#pragma once

#include <cstdint>
#include <vector>

namespace nbfnet {

// y = W x + b
struct DenseLayer {
    int64_t inputs, outputs;
    const double *weight;  // (output, input)
    const double *bias;    // (output)
};

struct MlpCall {
    std::vector<DenseLayer> layers;  // each takes what the one before gives; the last gives one number
    int64_t rows;
    const float *in;  // (row, input of the first layer)
    float *out;       // (row)
    int threads;
};

namespace baseline {
void mlp(const MlpCall &call);
}
#if defined(__x86_64__)
namespace avx2 {
void mlp(const MlpCall &call);
}
namespace avx512 {
void mlp(const MlpCall &call);
}
#endif

}  // namespace nbfnet
