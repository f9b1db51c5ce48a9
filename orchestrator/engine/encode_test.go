package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// texts are valid and invalid UTF-8, with what JSON and HTML escape among it.
var texts = rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
	return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
}), rapid.SampledFrom([]string{"", "<a & b>", "\u2028\u2029", "\x00", "\xff", "a\xed\xa0\x80b", `"\`, "😀"}))

// values are JSON texts, compact and not.
var values = rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{
	"null", " 7 ", "1e400", "12345678901234567890.10", `{ "b": 1, "a": [ "<&>" , "\u2028" ] }`, "\t[\n]", `"\ud800"`, `{"a":1,"a":2}`,
}), rapid.Custom(func(t *rapid.T) string {
	data, err := json.MarshalIndent(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.Float64Range(-1e9, 1e9))).Draw(t, "value"), "", " ")
	require.NoError(t, err)
	return string(data)
}))

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func messages(t *rapid.T, name string) []providers.Message {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) providers.Message {
		return providers.Message{
			Role: providers.Role(texts.Draw(t, "role")), Text: texts.Draw(t, "text"), ToolID: texts.Draw(t, "tool"),
			ToolCalls: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) providers.ToolCall {
				return providers.ToolCall{ID: texts.Draw(t, "id"), Name: texts.Draw(t, "name"), Input: raw(values.Draw(t, "input")), Extra: raw(values.Draw(t, "extra"))}
			}), 0, 3).Draw(t, "calls"),
		}
	}), 0, 3).Draw(t, name)
}

func clone[T any](t require.TestingT, v T) (out T) {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// What a flow sees of a response now is what it sees of it at a replay.
func TestNormalize(t *testing.T) {
	t.Run("a response is what is read back", rapid.MakeCheck(func(t *rapid.T) {
		resp := agent.Response{
			Text: texts.Draw(t, "text"), Data: raw(values.Draw(t, "data")), Messages: messages(t, "messages"),
			More: rapid.Bool().Draw(t, "more"), Usage: providers.Usage{Calls: 1, Cost: 7}, Elapsed: time.Second,
		}
		require.NoError(t, normalize(&resp))
		data, err := Encode(CalledData{Response: &resp})
		require.NoError(t, err)
		var back CalledData
		require.NoError(t, json.Unmarshal(data, &back))
		assert.Equal(t, resp, *back.Response)
		again, err := Encode(back)
		require.NoError(t, err)
		assert.Equal(t, string(data), string(again), "the bytes that were written are those that are read")
	}))
	t.Run("an error is what is read back", rapid.MakeCheck(func(t *rapid.T) {
		in := &agent.Error{Message: texts.Draw(t, "message"), Stack: texts.Draw(t, "stack"), Transient: rapid.Bool().Draw(t, "transient"), RetryAfter: time.Second}
		for _, c := range rapid.SliceOf(rapid.OneOf(texts, rapid.SampledFrom([]string{"over", "left-behind", "budget"}))).Draw(t, "codes") {
			in.Codes = append(in.Codes, agent.Code(c))
		}
		before := *in
		got := normalizeError(in)
		assert.Equal(t, before, *in, "the agent's own stays as it is")
		assert.NotContains(t, got.Codes, ErrOver)
		assert.NotContains(t, got.Codes, ErrLeft)
		assert.Equal(t, *got, clone(t, *got))
	}))
	for name, tt := range map[string]struct {
		resp agent.Response
		want string
	}{
		"data that is no JSON":     {agent.Response{Data: json.RawMessage(`{`)}, "malformed: Response.Data: it is not JSON"},
		"messages without JSON":    {agent.Response{Messages: []providers.Message{{ToolCalls: []providers.ToolCall{{Input: json.RawMessage(`{`)}}}}}, "malformed: Response.Messages have no JSON form"},
		"negative cost":            {agent.Response{Usage: providers.Usage{Cost: -1}}, "malformed: the agent reports a usage below zero"},
		"negative unpriced calls":  {agent.Response{Usage: providers.Usage{Calls: 1, Unpriced: -1}}, "malformed: the agent reports a usage below zero"},
		"a negative cache of many": {agent.Response{Usage: providers.Usage{Calls: 1, CacheWrite: -1, CacheRead: 5}}, "malformed: the agent reports a usage below zero"},
	} {
		t.Run(name, func(t *testing.T) {
			err := normalize(&tt.resp)
			require.ErrorIs(t, err, ErrMalformed)
			require.ErrorContains(t, err, tt.want)
			assert.False(t, tt.resp.Usage.Negative())
		})
	}
	t.Run("the messages of the agent stay as they are", func(t *testing.T) {
		own := []providers.Message{{Text: "\xff"}}
		resp := agent.Response{Messages: own}
		require.NoError(t, normalize(&resp))
		assert.Equal(t, "\xff", own[0].Text)
		assert.Equal(t, "\ufffd", resp.Messages[0].Text)
	})
}

func TestEncode(t *testing.T) {
	t.Run("raw JSON in it stays byte for byte", func(t *testing.T) {
		got, err := Encode(map[string]any{"a": json.RawMessage(`"<&>\u2028"`)})
		require.NoError(t, err)
		assert.Equal(t, `{"a":"<&>\u2028"}`, string(got))
	})
	t.Run("the largest value", func(t *testing.T) {
		got, err := Encode(strings.Repeat("x", MaxData-2))
		require.NoError(t, err)
		assert.Len(t, got, MaxData)
		_, err = Encode(strings.Repeat("x", MaxData-1))
		require.ErrorIs(t, err, ErrTooLarge)
		require.ErrorContains(t, err, "67108865 bytes")
	})
	t.Run("the caller owns what it gets", func(t *testing.T) {
		one, err := Encode("one")
		require.NoError(t, err)
		_, err = Encode("two")
		require.NoError(t, err)
		assert.Equal(t, `"one"`, string(one))
	})
	t.Run("what has no JSON form leaves nothing behind", func(t *testing.T) {
		_, err := Encode(func() {})
		require.Error(t, err)
		got, err := Encode(1)
		require.NoError(t, err)
		assert.Equal(t, "1", string(got))
	})
}

func requests(t *rapid.T) agent.Request {
	req := agent.Request{
		Op: texts.Draw(t, "op"), Prompt: texts.Draw(t, "prompt"), History: messages(t, "history"),
		Input: raw(values.Draw(t, "input")), Output: raw(values.Draw(t, "output")), Limits: agent.Limits{Timeout: time.Second},
	}
	if rapid.Bool().Draw(t, "warm") {
		at := rapid.Float64Range(0, 2).Draw(t, "temperature")
		req.Temperature = &at
	}
	return req
}

// joined is the request that parts are of, without Limits.
func joined(t require.TestingT, parts []json.RawMessage) agent.Request {
	req, err := JoinRequest(parts, agent.Limits{})
	require.NoError(t, err)
	return *req
}

func TestRequests(t *testing.T) {
	t.Run("parts join to the request", rapid.MakeCheck(func(t *rapid.T) {
		req := requests(t)
		parts, err := SplitRequest(&req)
		require.NoError(t, err)
		assert.Len(t, parts, 1+len(req.History))
		for _, p := range parts {
			assert.True(t, json.Valid(p))
			assert.NotContains(t, string(p), `"limits"`)
		}
		got := joined(t, parts)
		req.Limits = agent.Limits{}
		assert.Equal(t, clone(t, req), clone(t, got))
		valid := clone(t, req) // where texts are no UTF-8, the parts have escapes
		first, err := SplitRequest(&valid)
		require.NoError(t, err)
		got = joined(t, first)
		second, err := SplitRequest(&got)
		require.NoError(t, err)
		assert.Equal(t, first, second, "and split to the same parts")
		limits := agent.Limits{Attempts: 3, Cost: 7}
		whole, err := JoinRequest(first, limits)
		require.NoError(t, err)
		assert.Equal(t, RequestHash("a", &valid), RequestHash("a", whole), "and have the same hash")
		valid.Limits = limits
		assert.Equal(t, valid, *whole, "what is as it was read from a log joins to itself")
	}))
	t.Run("what is no request does not join", func(t *testing.T) {
		for _, parts := range [][]json.RawMessage{nil, {raw("[]")}, {raw(`{"prompt":1}`)}, {raw("{}"), raw("7")}, {raw("{}"), nil}} {
			req, err := JoinRequest(parts, agent.Limits{})
			require.ErrorContains(t, err, "engine: ", "%s", parts)
			assert.Nil(t, req)
		}
		req, err := JoinRequest([]json.RawMessage{raw(`{"prompt":"p","history":[{"text":"not here"}],"limits":{"attempts":9}}`)}, agent.Limits{Repairs: 1})
		require.NoError(t, err)
		assert.Equal(t, &agent.Request{Prompt: "p", Limits: agent.Limits{Repairs: 1}}, req, "a first part has neither History nor Limits")
	})
	t.Run("the messages of a conversation that grows are the same parts", rapid.MakeCheck(func(t *rapid.T) {
		req := requests(t)
		before, err := SplitRequest(&req)
		require.NoError(t, err)
		req.History = append(req.History, providers.Message{Role: providers.User, Text: "more"})
		after, err := SplitRequest(&req)
		require.NoError(t, err)
		assert.Equal(t, before, after[:len(before)])
	}))
	t.Run("the hash is of all but the limits", rapid.MakeCheck(func(t *rapid.T) {
		req := requests(t)
		hash := RequestHash("a", &req)
		assert.Len(t, hash, 32)
		limited := req
		limited.Limits = agent.Limits{Attempts: 7}
		assert.Equal(t, hash, RequestHash("a", &limited))
		assert.NotEqual(t, hash, RequestHash("b", &req))
		other := requests(t)
		if same := clone(t, req); assert.ObjectsAreEqual(same, clone(t, other)) {
			return // invalid UTF-8 may be the same in JSON
		}
		assert.NotEqual(t, hash, RequestHash("a", &other))
	}))
	t.Run("text does not move from one field to another", func(t *testing.T) {
		zero := 0.0
		message := func(m providers.Message) []providers.Message { return []providers.Message{m} }
		tool := func(c providers.ToolCall) []providers.Message {
			return message(providers.Message{ToolCalls: []providers.ToolCall{c}})
		}
		seen := map[string]int{}
		for i, req := range []agent.Request{
			{},
			{Op: "1"},
			{Prompt: "1"},
			{Input: raw("1")},
			{Output: raw("1")},
			{Temperature: &zero},
			{Op: "1", Prompt: "1"},
			{Op: "11"},
			{Prompt: "11"},
			{Op: "\x01" + "1"},
			{Op: "1", Prompt: "\x011"},
			{History: message(providers.Message{})},
			{History: []providers.Message{{}, {}}},
			{History: message(providers.Message{Role: "1"})},
			{History: message(providers.Message{Text: "1"})},
			{History: message(providers.Message{ToolID: "1"})},
			{History: tool(providers.ToolCall{})},
			{History: tool(providers.ToolCall{ID: "1"})},
			{History: tool(providers.ToolCall{Name: "1"})},
			{History: tool(providers.ToolCall{Input: raw("1")})},
			{History: tool(providers.ToolCall{Extra: raw("1")})},
			{History: []providers.Message{{Text: "1"}, {}}},
			{History: []providers.Message{{}, {Text: "1"}}},
			{Parts: []providers.Part{{}}},
			{Parts: []providers.Part{{Text: "1"}}},
			{Parts: []providers.Part{{Data: []byte("1")}}},
			{Parts: []providers.Part{{URL: "1"}}},
			{History: message(providers.Message{Parts: []providers.Part{{}}})},
			{History: message(providers.Message{Parts: []providers.Part{{Media: "1"}}})},
			{Params: providers.Params{TopP: &zero}},
			{Params: providers.Params{Stop: []string{"1"}}},
			{Params: providers.Params{Seed: new(int64(1))}},
			{Params: providers.Params{Effort: "low"}},
			{Params: providers.Params{Extra: raw(`{"a":1}`)}},
		} {
			hash := RequestHash("a", &req)
			if before, ok := seen[hash]; ok {
				t.Errorf("requests %d and %d have one hash", before, i)
			}
			seen[hash] = i
		}
	})
}
