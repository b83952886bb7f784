// The vendors' own clients for Node.js against the gateway in front of the fake vendor.
//
//   node sdk_test.mjs http://127.0.0.1:PORT
//
// The clients use the fetch of Node.js. Their default, node-fetch, takes the end of a stream for a broken connection on
// Node.js 18 where the next request follows at once, also without a gateway.
import assert from "node:assert";
import "@anthropic-ai/sdk/shims/web";
import "openai/shims/web";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const base = process.argv[2];
const messages = [{ role: "user", content: "count to 7 and think of the cache" }];
const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: "node-1", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: base, apiKey: "node-1", maxRetries: 0 });

const chat = await openai.chat.completions.create({ model: "gpt-4o", messages });
assert.equal(chat.choices[0].message.content, "1 2 3 4 5 6 7 ");
let text = "";
for await (const chunk of await openai.chat.completions.create({ model: "gpt-4o", messages, stream: true })) {
  assert.equal(chunk.choices.length, 1);
  text += chunk.choices[0].delta.content ?? "";
}
assert.equal(text, "1 2 3 4 5 6 7 ");
const tools = [{ type: "function", function: { name: "add", parameters: { type: "object", properties: {} } } }];
const tool = await openai.chat.completions.create(
  { model: "gpt-4o", messages: [{ role: "user", content: "use a tool" }], tools });
assert.equal(tool.choices[0].message.tool_calls[0].function.name, "add");
const vectors = await openai.embeddings.create({ model: "gpt-4o", input: ["a b", "c"], encoding_format: "float" });
assert.equal(vectors.usage.prompt_tokens, 3);
const response = await openai.responses.create({ model: "gpt-4o", input: "count to 3" });
assert.equal(response.output_text, "1 2 3 ");
let last;
for await (const event of await openai.responses.create({ model: "gpt-4o", input: "count to 3", stream: true })) last = event;
assert.equal(last.response.usage.output_tokens, 3);

const message = await anthropic.messages.create({ model: "claude", max_tokens: 100, messages });
assert.equal(message.content[0].text, "1 2 3 4 5 6 7 ");
const stream = anthropic.messages.stream({ model: "claude", max_tokens: 100, messages });
assert.equal((await stream.finalMessage()).usage.output_tokens, 9);

// A refused call is sent again after the time that the client was told.
const patient = new OpenAI({ baseURL: `${base}/tight/v1`, apiKey: "node-2", maxRetries: 1 });
for (let i = 0; i < 3; ++i) await patient.chat.completions.create({ model: "gpt-4o", max_tokens: 10, messages });
const calm = new Anthropic({ baseURL: `${base}/tight`, apiKey: "node-3", maxRetries: 1 });
for (let i = 0; i < 3; ++i) await calm.messages.create({ model: "claude", max_tokens: 10, messages });
await assert.rejects(patient.chat.completions.create({ model: "gpt-4o", max_tokens: 6000, messages }), OpenAI.RateLimitError);
await assert.rejects(calm.messages.create({ model: "claude", max_tokens: 6000, messages }), Anthropic.RateLimitError);
