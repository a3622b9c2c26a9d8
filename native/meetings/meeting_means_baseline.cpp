// Meeting means for the instructions that every processor has, and in double precision.
#define NBFNET_ISA baseline
#include "meetings/meeting_loops.hpp"

namespace nbfnet::baseline {

void meeting_forward(const MeetingCall<double> &call) { forward(call); }
void meeting_backward(const MeetingCall<double> &call) { backward(call); }

}  // namespace nbfnet::baseline
