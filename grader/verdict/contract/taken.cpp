#include "verdict/contract/taken.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace onepass::verdict::contract {
namespace {

/// Has a tensor fewer rows or columns than its function says, because spread() or hollow() has left
/// them out?
bool is_spread(const Case& call) {
  const Sizes sizes = every_size(call);
  return std::any_of(call.buffers().begin(), call.buffers().end(), [&](const Buffer& buffer) {
    const Tensor& tensor = *call.contract()->find(buffer.name);
    return !buffer.null && !tensor.is_scratch() &&
           (buffer.rows < tensor.rows.in(sizes) || buffer.cols < tensor.cols.in(sizes));
  });
}

/// Of the views of one matrix, if there are some, how they lie in it.
void take_views(const Case& call, Arrangement& arrangement) {
  std::vector<Buffer> views;
  for (const Buffer& buffer : call.buffers()) {
    if (!buffer.layout.in.empty()) {
      views.push_back(buffer);
    }
  }
  if (views.empty()) {
    return;
  }
  std::sort(views.begin(), views.end(),
            [](const Buffer& a, const Buffer& b) { return a.layout.offset < b.layout.offset; });
  views.insert(views.begin(), call.buffer(views.front().layout.in));
  std::int64_t row = views.front().stride();
  for (const Buffer& view : views) {
    row = std::min(row, view.stride());
  }
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::int64_t next = i + 1 < views.size() ? views[i + 1].layout.offset : row;
    Place& place = arrangement.places[views[i].name];
    place.gap = next - begin - views[i].cols;
    place.offset = i == 0 ? place.offset : 0;
    place.padded = row * size_of(views[i].dtype) % 16 == 0;
    arrangement.views.push_back({views[i].name, views[i].stride() / row});
    begin = next;
  }
}

}  // namespace

std::optional<Taken> taken_apart(const Case& call) {
  if (call.contract() == nullptr || is_spread(call)) {
    return std::nullopt;
  }
  Taken taken;
  taken.arguments.sizes = sizes_of(call);
  for (const Scalar& scalar : call.contract()->scalars) {
    taken.arguments.scalars[scalar.name] = call.real(scalar.name);
  }
  for (const Tensor& tensor : call.contract()->tensors) {
    const Buffer& buffer = call.buffer(tensor.name);
    if (!buffer.over.empty()) {
      taken.arrangement.over.insert(tensor.name);
    } else if (buffer.null) {
      taken.arrangement.left_out.insert(tensor.name);
    } else {
      const bool aligned = buffer.stride() * size_of(buffer.dtype) % 16 == 0;
      taken.arrangement.places[tensor.name] = {.gap = buffer.stride() - buffer.cols,
                                               .offset = buffer.layout.offset,
                                               .padded = tensor.traits.strided && aligned};
      if (buffer.role != Role::output) {
        taken.arguments.values[tensor.name] = std::nullopt;
      }
    }
  }
  take_views(call, taken.arrangement);
  return taken;
}

std::optional<Taken> taken_with_values(const Case& call) {
  std::optional<Taken> taken = is_hash_filled(call) ? std::nullopt : taken_apart(call);
  if (taken) {
    for (auto& [name, values] : taken->arguments.values) {
      values = call.values(name);
    }
  }
  return taken;
}

Case made_of(const Case& call, Taken taken) {
  return contract::call(*call.contract(), call.dtype(), std::move(taken.arguments),
                        taken.arrangement);
}

bool is_hash_filled(const Case& call) {
  return std::any_of(call.buffers().begin(), call.buffers().end(),
                     [](const Buffer& buffer) { return buffer.hash.has_value(); });
}

Sizes every_size(const Case& call) {
  return all_sizes(*call.contract(), sizes_of(call), [&](const Tensor& tensor) {
    const Buffer& buffer = call.buffer(tensor.name);
    return buffer.null || buffer.role == Role::output
               ? std::nullopt
               : std::optional<Extents>({buffer.rows, buffer.cols});
  });
}

}  // namespace onepass::verdict::contract
