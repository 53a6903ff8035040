// What the resources of its kernels mean for an exercise whose checks have run on the simulator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/compile_errors.h"
#include "driver/gpu_code/resources.h"
#include "driver/report.h"

namespace onepass::driver {

/// The ways in which its checks have launched kernels: of each check, by name, "launches" of
/// verdict/session/events.h.
using Launches = std::map<std::string, Json>;

/// What `exercise` has in the report as "gpu_code": each kernel, and how many blocks of its
/// launches are on a multiprocessor at one time.
Json describe_gpu_code(const std::vector<KernelResources>& kernels, const Launches& launches);

/// Checks have not passed with a launch that a GPU refuses for the registers that it takes. The
/// line of the launch is looked up in `source`, the student's file.
void refuse_launches(Json& exercise, const std::vector<KernelResources>& kernels,
                     const Launches& launches, const std::string& source);

/// Checks have not passed with a kernel that spills, of a launch that may not.
void refuse_spills(Json& exercise, const std::vector<KernelResources>& kernels,
                   const Launches& launches);

/// A GPU's compiler refuses the file.
void refuse_file(Json& exercise, const CompileError& error);

/// Has one of these two changed the exercise?
bool is_refused_by_gpu(const Json& exercise);

}  // namespace onepass::driver
