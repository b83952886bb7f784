#include "limiter/acquire_operation.h"

#include <algorithm>

#include "base/text.h"

namespace weir::limiter {
namespace {

using store::Progress;

bool has_limits(const limits::Resolution* resolution) {
  for (; resolution != nullptr; resolution = resolution->parent_resolution.get()) {
    if (resolution->limits) return true;
  }
  return false;
}

/// Of a limit that is not concurrent, in a request for every limit.
Amount amount_of(const store::Request& request, std::string_view limit) {
  for (const Charge& charge : request.named) {
    if (charge.limit == limit) return charge.amount;
  }
  return *request.every;
}

}  // namespace

void AcquireOperation::start(const store::Request& request, Mode mode, Decision& decision,
                             store::Completion<void> done) {
  plan_.request = request;
  mode_ = mode;
  decision_ = &decision;
  done_ = done;
  resolve();
}

void AcquireOperation::resolve() {
  const store::Request& request = plan_.request;
  walk_.start(
      {request.name_space, request.entity, request.resource, limits::LimitSetRef(request.request_limits)},
      {[](void* self, Result<limits::ResolutionRef>&& resolution) {
         static_cast<AcquireOperation*>(self)->resolved(std::move(resolution));
       },
       this});
}

void AcquireOperation::resolved(Result<limits::ResolutionRef>&& resolution) {
  if (!resolution) return finish(resolution.error());
  const store::Request& request = plan_.request;
  if (!has_limits(resolution->get())) {
    return finish(base::error(ErrorCode::no_limits, "no limits are set for entity ",
                              base::quoted(request.entity), " on resource ", base::quoted(request.resource),
                              "; set some for the entity, the resource or the system"));
  }
  for (const limits::Resolution* link = resolution->get(); link != nullptr;
       link = link->parent_resolution.get()) {
    if (auto fits = limits::check_inherited(*link); !fits) return finish(fits.error());
  }
  plan_.resolution = *std::move(resolution);
  if (request.every != nullptr) name_every();
  const store::Completion<Progress> done(
      [](void* self, Result<Progress>&& progress) {
        static_cast<AcquireOperation*>(self)->progressed(std::move(progress));
      },
      this);
  if (mode_ == Mode::acquire) {
    buckets_.acquire(plan_, *decision_, done);
  } else {
    buckets_.peek(plan_, *decision_, done);
  }
}

/// Names the limits of the whole chain, each once.
void AcquireOperation::name_every() {
  every_.clear();
  for (const limits::Resolution* at = plan_.resolution.get(); at != nullptr;
       at = at->parent_resolution.get()) {
    for (std::size_t i = 0; at->limits && i < at->limits->size(); ++i) {
      const std::string_view name = at->limits->name(i);
      const auto same = [&](const Charge& charge) { return charge.limit == name; };
      if (std::any_of(every_.begin(), every_.end(), same)) continue;
      // A request is one call, whatever it costs.
      const bool concurrent = (*at->limits)[i].kind() == Kind::concurrent;
      every_.push_back({name, concurrent ? Amount(1) : amount_of(plan_.request, name)});
    }
  }
  plan_.request.consume = every_;
}

void AcquireOperation::finish(Result<void> result) {
  // Release first: the completion may change limits.
  held_.release();
  (*done_)(std::move(result));
}

void AcquireOperation::progressed(Result<Progress>&& progress) {
  if (!progress) return finish(progress.error());
  if (*progress == Progress::decided) return finish({});
  if (++attempts_ >= patient_attempts) held_.hold();
  if (attempts_ == most_attempts) {
    return finish(base::error(ErrorCode::contention, "limits changed too often while deciding; try again"));
  }
  resolve();
}

}  // namespace weir::limiter
