// Fused iterations for the instructions that every processor has, and in double precision.
#define NBFNET_ISA baseline
#include "fused/iteration_kernels.hpp"

namespace nbfnet::baseline {

void fused_forward(const FusedCall<double> &call) { forward(call); }
void fused_backward(const FusedCall<double> &call) { backward(call); }

}  // namespace nbfnet::baseline
