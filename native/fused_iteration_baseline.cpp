// Fused iterations for the instruction set baseline.
#define NBFNET_ISA baseline
#include "fused_calls.hpp"

namespace nbfnet::NBFNET_ISA {

const FusedKernels<float> fused_float = fused_kernels<float>();
const FusedKernels<double> fused_double = fused_kernels<double>();

}  // namespace nbfnet::NBFNET_ISA
