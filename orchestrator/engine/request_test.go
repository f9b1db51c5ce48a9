package engine

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// recordedRequests are requests with the hash and the parts that logs have of them. Logs
// of earlier versions are compared with them: no entry may ever change.
func recordedRequests() map[string]struct {
	req   agent.Request
	hash  string
	parts string // one a line
} {
	half := 0.5
	talk := []providers.Message{
		{Role: "user", Text: "hi"},
		{Role: "assistant", ToolCalls: []providers.ToolCall{{ID: "1", Name: "f", Input: raw(`{"a":1}`), Extra: raw(`"x"`)}}},
		{Role: "tool", ToolID: "1", Text: "<ok>"},
	}
	const said = "\n" + `{"role":"user","text":"hi"}` + "\n" +
		`{"role":"assistant","toolCalls":[{"id":"1","name":"f","input":{"a":1},"extra":"x"}]}` + "\n" +
		`{"role":"tool","text":"<ok>","toolID":"1"}`
	return map[string]struct {
		req   agent.Request
		hash  string
		parts string
	}{
		"nothing":       {agent.Request{}, "a12887a73895544be98c6aef8a0b454f", `{}`},
		"a prompt":      {agent.Request{Prompt: "p"}, "53ffe08e548cfc674dd7769b309542be", `{"prompt":"p"}`},
		"an operation":  {agent.Request{Op: "o"}, "5585ca68454aa98f35135495d9bd58b2", `{"op":"o"}`},
		"an input":      {agent.Request{Input: raw(`{"a":1}`)}, "f99f01edd50a6c8f67817d70f77c03ad", `{"input":{"a":1}}`},
		"an output":     {agent.Request{Output: raw(`{"type":"object"}`)}, "ada89cfec8245459ea8c3af795521c38", `{"output":{"type":"object"}}`},
		"a temperature": {agent.Request{Temperature: &half}, "6a80df0431e6cfcf4fefa2abb4c6b030", `{"temperature":0.5}`},
		"a history":     {agent.Request{History: talk}, "040402c6ef5574d3bf8ea54ae334c41e", `{}` + said},
		"an image": {
			agent.Request{Parts: []providers.Part{{Kind: "image", Data: []byte("png"), Media: "image/png"}}},
			"33d8d0ca54c55f076eaa037ac5c33f6f", `{"parts":[{"kind":"image","data":"cG5n","media":"image/png"}]}`,
		},
		"a document in the history": {
			agent.Request{History: []providers.Message{{Role: "user", Parts: []providers.Part{{Kind: "document", URL: "https://x.org/a.pdf", Name: "a"}}}}},
			"647dcdef90ad6a88dd46b9dd7edeb041",
			"{}\n" + `{"role":"user","parts":[{"kind":"document","url":"https://x.org/a.pdf","name":"a"}]}`,
		},
		"settings of the model": {
			agent.Request{Params: providers.Params{TopP: &half, Stop: []string{"end"}, Seed: new(int64(7)), Effort: "low", Extra: raw(`{"k":8}`)}},
			"0f363f1c0b0444662976aec1dc6c5cd4",
			`{"params":{"topP":0.5,"stop":["end"],"seed":7,"effort":"low","extra":{"k":8}}}`,
		},
		"all": {
			agent.Request{
				Op: "o", Prompt: "p", History: talk, Input: raw(`1`), Output: raw(`{}`), Temperature: &half,
				Parts: []providers.Part{{Kind: "text", Text: "t"}}, Params: providers.Params{Effort: "high"}, Limits: agent.Limits{Timeout: 5},
			},
			"7dc512f140be87d46fa53f4382746a75",
			`{"op":"o","prompt":"p","input":1,"output":{},"temperature":0.5,"parts":[{"kind":"text","text":"t"}],"params":{"effort":"high"}}` + said,
		},
	}
}

func TestRequestsAsLogsHaveThem(t *testing.T) {
	for name, tt := range recordedRequests() {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.hash, RequestHash("a", &tt.req))
			parts, err := SplitRequest(&tt.req)
			require.NoError(t, err)
			var lines []string
			var read []json.RawMessage
			for _, part := range parts {
				lines = append(lines, string(part))
			}
			assert.Equal(t, tt.parts, strings.Join(lines, "\n"))
			for line := range strings.SplitSeq(tt.parts, "\n") {
				read = append(read, json.RawMessage(line))
			}
			got, err := JoinRequest(read, tt.req.Limits)
			require.NoError(t, err)
			assert.Equal(t, tt.req, *got)
			assert.Equal(t, tt.hash, RequestHash("a", got))
		})
	}
}

func TestSplitRequestLeavesTheRequest(t *testing.T) {
	for name, tt := range recordedRequests() {
		before := clone(t, tt.req)
		_, err := SplitRequest(&tt.req)
		require.NoError(t, err)
		assert.Equal(t, before, tt.req, name)
	}
}

func TestSplitRequestFails(t *testing.T) {
	nan := math.NaN()
	for name, req := range map[string]agent.Request{
		"a temperature that is no number": {Temperature: &nan},
		"an input that is no JSON":        {Input: raw(`{`)},
		"an output that is no JSON":       {Output: raw(`]`)},
		"params that are no JSON":         {Params: providers.Params{Extra: raw(`{`)}},
		"a message that is no JSON":       {History: []providers.Message{{}, {ToolCalls: []providers.ToolCall{{Input: raw(`{`)}}}}},
	} {
		parts, err := SplitRequest(&req)
		require.Error(t, err, name)
		assert.Nil(t, parts, name)
		assert.Len(t, RequestHash("a", &req), 32, "%s: a hash it has all the same", name)
	}
	large := strings.Repeat("x", MaxData)
	_, err := SplitRequest(&agent.Request{Prompt: large})
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = SplitRequest(&agent.Request{History: []providers.Message{{Text: large}}})
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestJoinRequestSaysWhichPart(t *testing.T) {
	for want, parts := range map[string][]json.RawMessage{
		"engine: a request has no parts":         {},
		"engine: the first part of a request: ":  {raw(`"text"`)},
		"engine: message 0 of a request: ":       {raw(`{}`), raw(`{"text":1}`), raw(`{"text":2}`)},
		"engine: message 2 of a request: ":       {raw(`{}`), raw(`{}`), raw(`{}`), raw(`[]`)},
		"engine: message 1 of a request: unexpe": {raw(`{}`), raw(`{}`), raw(`{`)},
	} {
		_, err := JoinRequest(parts, agent.Limits{})
		require.ErrorContains(t, err, want)
	}
}

// TestHashSeesEachChange changes one field of a request at random: the hash changes, too.
func TestHashSeesEachChange(t *testing.T) {
	changes := map[string]func(req *agent.Request){
		"op":        func(req *agent.Request) { req.Op += "x" },
		"prompt":    func(req *agent.Request) { req.Prompt += "x" },
		"input":     func(req *agent.Request) { req.Input = append(raw(string(req.Input)), ' ') },
		"output":    func(req *agent.Request) { req.Output = append(raw(string(req.Output)), ' ') },
		"history":   func(req *agent.Request) { req.History = append(req.History, providers.Message{}) },
		"its first": func(req *agent.Request) { req.History = append([]providers.Message{{Text: "x"}}, req.History...) },
		"parts":     func(req *agent.Request) { req.Parts = append(req.Parts, providers.Part{}) },
		"stop":      func(req *agent.Request) { req.Params.Stop = append(req.Params.Stop, "x") },
		"effort":    func(req *agent.Request) { req.Params.Effort += "x" },
		"temperature": func(req *agent.Request) {
			if req.Temperature == nil {
				req.Temperature = new(0.0)
			} else {
				req.Temperature = nil
			}
		},
	}
	for name, change := range changes {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			req := requests(t)
			before := RequestHash("a", &req)
			require.Equal(t, before, RequestHash("a", &req), "it is the same each time")
			change(&req)
			require.NotEqual(t, before, RequestHash("a", &req))
		}))
	}
	req := agent.Request{Prompt: "p"}
	before := RequestHash("a", &req)
	req.Limits = agent.Limits{Timeout: time.Second, Attempts: 3, Cost: 5, AllowUnpriced: true}
	assert.Equal(t, before, RequestHash("a", &req), "limits do not count")
}
