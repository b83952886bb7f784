#!/usr/bin/env python3
"""The vendors' own clients for Python against the gateway in front of the fake vendor: every kind of call, and their
own retries. Run with the Python of build/venv/llm.

usage: sdk_test.py WEIR SOURCE_FOLDER"""
import pathlib
import subprocess
import sys
import tempfile
import threading

weir, source = sys.argv[1:]
sys.path[:0] = [f"{source}/tests/gateway", f"{source}/examples/llm"]
import anthropic  # noqa: E402
import fake_vendor  # noqa: E402
import openai  # noqa: E402
from program import Gateway, eventually, expect, report  # noqa: E402

CONFIG = """
listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
store: "sqlite:weir.db"
routes:
  - {{path: /v1, name: models, upstream: "http://127.0.0.1:{port}", llm: auto, limit_by: bearer,
     upstream_key: "env:VENDOR_KEY", prices: prices.yaml, unpriced: pass, limits: {{
       rpm: 1000/min, tpm: 100000/min, itpm: 100000/min, otpm: 100000/min, usd: 1250000/day,
       concurrent: {{kind: concurrent, capacity: 10}}}}}}
  - {{path: /tight/v1, name: tight, upstream: "http://127.0.0.1:{port}", llm: auto, limit_by: bearer,
     upstream_key: "env:VENDOR_KEY", models: {{gpt-4o: tight, claude: tight}}, limits: {{
       rps: {{capacity: 1, refill_amount: 1, refill_period_ms: 500}}, tpm: 5000/min}}}}
"""
PRICES = "models: {gpt-4o: {input: 2.5, cached_input: 1.25, output: 10}, claude: {input: 3, output: 15}}\n"
asked = {"messages": [{"role": "user", "content": "count to 7 and think of the cache"}]}
# Of as many words as no other call has, so that the vendor's bill would show it.
asked_in_vain = {"messages": [{"role": "user", "content": "in vain " * 50}]}


def same(what, seen, wanted):
    expect(f"{what}: {seen}, not {wanted}", seen == wanted)


def openai_calls(client):
    plain = client.chat.completions.create(model="gpt-4o", **asked)
    same("chat", plain.choices[0].message.content, "1 2 3 4 5 6 7 ")
    same("chat's usage", plain.usage.completion_tokens, 9)
    chunks = list(client.chat.completions.create(model="gpt-4o", stream=True, **asked))
    same("streamed", "".join(c.choices[0].delta.content or "" for c in chunks), "1 2 3 4 5 6 7 ")
    expect("a usage that nobody asked for is taken out", all(c.choices and c.usage is None for c in chunks))
    chunks = list(client.chat.completions.create(
        model="gpt-4o", stream=True, stream_options={"include_usage": True}, **asked))
    same("a usage that was asked for", chunks[-1].usage.prompt_tokens, 8)
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
    tool = client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": "use a tool"}], tools=tools)
    same("a tool call", tool.choices[0].message.tool_calls[0].function.arguments, '{"a":1}')
    parts = list(client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": "use a tool"}], tools=tools, stream=True))
    expect("a streamed tool call", any(p.choices[0].delta.tool_calls for p in parts))
    vectors = client.embeddings.create(model="gpt-4o", input=["a b c", "d"], encoding_format="float")
    same("embeddings", (len(vectors.data), vectors.usage.prompt_tokens), (2, 4))
    response = client.responses.create(model="gpt-4o", input="count to 3", max_output_tokens=50)
    same("a response", (response.output_text, response.usage.output_tokens), ("1 2 3 ", 3))
    events = list(client.responses.create(model="gpt-4o", input="count to 3", stream=True))
    same("a streamed response", events[-1].response.usage.input_tokens, 3)
    expect("the list of models", client.models.list().data[0].id == "gpt-4o")


def anthropic_calls(client):
    plain = client.messages.create(model="claude", max_tokens=100, **asked)
    same("a message", (plain.content[0].text, plain.usage.output_tokens), ("1 2 3 4 5 6 7 ", 9))
    with client.messages.stream(model="claude", max_tokens=100, **asked) as stream:
        same("a streamed message", "".join(stream.text_stream), "1 2 3 4 5 6 7 ")
    same("its usage", stream.get_final_message().usage.output_tokens, 9)
    tool = client.messages.create(model="claude", max_tokens=100, messages=[{"role": "user", "content": "use a tool"}],
                                  tools=[{"name": "add", "input_schema": {"type": "object", "properties": {}}}])
    same("a tool", tool.content[1].input, {"usage": {"input_tokens": 9999}})


def headers(gateway):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key="headers")
    answer = client.chat.completions.with_raw_response.create(model="gpt-4o", max_tokens=50, **asked)
    expect("OpenAI's fields", answer.headers["x-ratelimit-remaining-requests"] == "999" and
           answer.headers["x-ratelimit-limit-tokens"] == "100000" and
           answer.headers["x-ratelimit-reset-tokens"].endswith("s") and "ratelimit" in answer.headers)
    client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{gateway.port}", api_key="headers")
    answer = client.messages.with_raw_response.create(model="claude", max_tokens=50, **asked)
    expect("Anthropic's fields", answer.headers["anthropic-ratelimit-input-tokens-limit"] == "100000" and
           answer.headers["anthropic-ratelimit-requests-reset"].endswith("Z") and
           "x-ratelimit-remaining-requests" not in answer.headers)


def retries(gateway):
    """A refused call is sent again once, after the time that the client was told, and is admitted then."""
    base = f"http://127.0.0.1:{gateway.port}/tight"

    def refused():
        return gateway.metric('weir_gateway_requests_total{route="tight",status="4xx"}') or 0
    for client, call in [
            (openai.OpenAI(base_url=f"{base}/v1", api_key="retries-1", max_retries=1),
             lambda c: c.chat.completions.create(model="gpt-4o", max_tokens=10, **asked)),
            (anthropic.Anthropic(base_url=base, api_key="retries-2", max_retries=1),
             lambda c: c.messages.create(model="claude", max_tokens=10, **asked))]:
        # Each call succeeds, although at most one more attempt is allowed. On a slow machine the first few may come
        # when the bucket is full again.
        before, calls = refused(), 0
        while refused() == before and calls < 50:
            call(client)
            calls += 1
        expect(f"one of {calls} calls is refused, once", refused() - before == 1)
        before = refused()
        try:
            (client.chat.completions.create(model="gpt-4o", max_tokens=6000, **asked_in_vain)
             if isinstance(client, openai.OpenAI)
             else client.messages.create(model="claude", max_tokens=6000, **asked_in_vain))
            expect("a call that never fits is refused", False)
        except (openai.RateLimitError, anthropic.RateLimitError) as error:
            expect(f"the refusal says why: {error}", "up to 6000 of output" in str(error))
            expect("it is counted", eventually(lambda: refused() > before))
            same("a call that never fits is not sent again", refused() - before, 1)
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="retries-3")
    try:
        client.chat.completions.create(model="gpt-9", **asked)
        expect("an unknown model is refused", False)
    except openai.NotFoundError as error:
        same("its code", error.code, "model_not_found")
    try:
        openai.OpenAI(base_url=f"{base}/v1", api_key="retries-4", max_retries=0).chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "fail with 500"}])
        expect("an error of the vendor passes", False)
    except openai.InternalServerError as error:
        expect("in its own words", "as the prompt asks" in str(error))


def totals(gateway, vendor):
    """What the gateway has settled is what the vendor bills, to the token."""
    def billed():
        sums = {"input": 0, "cached_input": 0, "output": 0}
        for call in list(vendor.calls):
            inside = call["api"] != "messages"
            cached = min(call["cached"], call["input"]) if inside else call["cached"]
            if call["api"] == "embeddings":
                cached = 0
            sums["cached_input"] += cached
            sums["input"] += call["input"] - (cached if inside else 0)
            sums["output"] += call["output"]
        return sums

    def settled():
        def total(*kinds):
            return sum(gateway.metric(f'weir_llm_tokens_total{{route="{route}",kind="{kind}"}}') or 0
                       for route in ("models", "tight") for kind in kinds)
        return {"input": total("input"), "cached_input": total("cached_input"), "output": total("output", "reasoning")}
    # The vendor bills a call after its answer, and the gateway settles it then.
    eventually(lambda: settled() == billed())
    same("settled", settled(), billed())
    expect("the vendor sees no call that never fits", all(call["input"] < 100 for call in vendor.calls))
    print(f"{len(vendor.calls)} calls: {billed()}")


def main():
    vendor = fake_vendor.Vendor(("127.0.0.1", 0), key="vendor-secret")
    thread = threading.Thread(target=vendor.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "prices.yaml").write_text(PRICES)
        with Gateway(weir, folder, CONFIG.format(port=vendor.server_address[1]),
                     environment={"VENDOR_KEY": "vendor-secret"}) as gateway:
            base = f"http://127.0.0.1:{gateway.port}"
            openai_calls(openai.OpenAI(base_url=f"{base}/v1", api_key="customer-1", max_retries=0))
            anthropic_calls(anthropic.Anthropic(base_url=base, api_key="customer-1", max_retries=0))
            headers(gateway)
            retries(gateway)
            node = subprocess.run(["node", f"{source}/tests/llm/sdk_test.mjs", base], capture_output=True, text=True)
            expect(f"the clients for Node.js: {node.stderr}", node.returncode == 0)
            totals(gateway, vendor)
            expect("the vendor's key is in no log", "vendor-secret" not in gateway.logged())
    vendor.shutdown()
    vendor.server_close()
    return report("the clients of OpenAI and Anthropic")


sys.exit(main())
