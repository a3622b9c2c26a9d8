// Meeting means for the instruction set avx2.
#if defined(__x86_64__)
#define NBFNET_ISA avx2
#include "meetings/meeting_loops.hpp"
#endif
