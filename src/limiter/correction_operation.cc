#include "limiter/correction_operation.h"

#include "base/text.h"

namespace weir::limiter {

using store::Progress;

void CorrectionOperation::start(const store::CorrectionPlan& plan, store::Completion<void> done) {
  plan_ = plan;
  done_ = done;
  resolve();
}

void CorrectionOperation::resolve() {
  walk_.start({plan_.name_space, plan_.entity, plan_.resource, {}},
              {[](void* self, Result<limits::ResolutionRef>&& resolution) {
                 static_cast<CorrectionOperation*>(self)->resolved(std::move(resolution));
               },
               this});
}

void CorrectionOperation::resolved(Result<limits::ResolutionRef>&& resolution) {
  if (!resolution) return finish(resolution.error());
  if (!(*resolution)->limits) {
    return finish(base::error(ErrorCode::no_limits, "no limits are set for entity ",
                              base::quoted(plan_.entity), " on resource ", base::quoted(plan_.resource)));
  }
  plan_.resolution = *std::move(resolution);
  buckets_.correct(plan_, outcome_,
                   {[](void* self, Result<Progress>&& progress) {
                      static_cast<CorrectionOperation*>(self)->progressed(std::move(progress));
                    },
                    this});
}

void CorrectionOperation::progressed(Result<Progress>&& progress) {
  if (!progress) return finish(progress.error());
  if (*progress == Progress::decided) return finish({});
  if (++attempts_ >= patient_attempts) held_.hold();
  if (attempts_ == most_attempts) {
    return finish(base::error(ErrorCode::contention,
                              "limits changed too often while correcting the bucket; try again"));
  }
  resolve();
}

void CorrectionOperation::finish(Result<void> result) {
  held_.release();
  (*done_)(std::move(result));
}

}  // namespace weir::limiter
