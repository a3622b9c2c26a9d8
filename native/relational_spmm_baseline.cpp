// Relational SpMM for the instructions that every machine of the platform has.
#define NBFNET_ISA baseline
#include "relational_spmm_kernels.hpp"
