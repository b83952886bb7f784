#include "llm/stream_end.h"

#include "base/json.h"
#include "base/text.h"

namespace weir::llm {

std::string stream_end(Api api, std::string_view model) {
  const std::string name = base::json_string(model);
  switch (api) {
    case Api::chat:
      return base::join(R"(data: {"id":"weir","object":"chat.completion.chunk","created":0,"model":)", name,
                        R"(,"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})",
                        "\n\ndata: [DONE]\n\n");
    case Api::responses:
      return base::join(
          "event: response.incomplete\n",
          R"(data: {"type":"response.incomplete","response":{"id":"weir","object":"response","created_at":0,)"
          R"("status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],)"
          R"("parallel_tool_calls":true,"tool_choice":"auto","tools":[],"model":)",
          name, "}}\n\n");
    case Api::messages:
      return "event: message_delta\n"
             R"(data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":0}})"
             "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    case Api::gemini:
      return base::join(R"(data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},)"
                        R"("finishReason":"MAX_TOKENS","index":0}],"modelVersion":)",
                        name, "}\n\n");
    case Api::embeddings:
    case Api::other:
      break;
  }
  return {};
}

}  // namespace weir::llm
