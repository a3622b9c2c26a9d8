// Fused iterations for the instruction set avx2.
#if defined(__x86_64__)
#define NBFNET_ISA avx2
#include "fused_calls.hpp"

namespace nbfnet::NBFNET_ISA {

const FusedKernels<float> fused_float = fused_kernels<float>();
const FusedKernels<double> fused_double = fused_kernels<double>();

}  // namespace nbfnet::NBFNET_ISA
#endif
