package bedrock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
)

// What a model takes is known by its name, or by its family.
func TestModels(t *testing.T) {
	const old, young = 4096, 16384
	const profile = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
	tests := []struct {
		id, family          string
		forced, temperature bool
		maxTokens           float64 // 0: it is asked by Converse
	}{
		{id: "anthropic.claude-v2:1", forced: true, temperature: true, maxTokens: old},
		{id: "anthropic.claude-3-haiku-20240307-v1:0", forced: true, temperature: true, maxTokens: old},
		{id: "us.anthropic.claude-3-5-sonnet-20241022-v2:0", forced: true, temperature: true, maxTokens: old},
		{id: "us.anthropic.claude-3-7-sonnet-20250219-v1:0", forced: true, temperature: true, maxTokens: young},
		{id: "anthropic.claude-sonnet-4-20250514-v1:0", forced: true, temperature: true, maxTokens: young},
		{id: "anthropic.claude-opus-4-1-20250805-v1:0", forced: true, temperature: true, maxTokens: young},
		{id: "global.anthropic.claude-haiku-4-5-20251001-v1:0", forced: true, temperature: true, maxTokens: young},
		{id: "us.anthropic.claude-opus-4-6-v1", forced: true, temperature: true, maxTokens: young},
		{id: "anthropic.claude-opus-4-7", forced: true, maxTokens: young},
		{id: "global.anthropic.claude-sonnet-5", forced: true, maxTokens: young},
		{id: "anthropic.claude-fable-5-1", maxTokens: young},
		{id: "us.anthropic.claude-opus-5-5", maxTokens: young},
		{id: "anthropic.claude-sonnet-6-20270101-v1:0", maxTokens: young},
		{id: "anthropic.claude-mythos-preview", maxTokens: young},
		{id: "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0", forced: true, temperature: true, maxTokens: young},
		{id: profile, family: "claude-sonnet-5", forced: true, maxTokens: young},
		{id: profile, family: "anthropic.claude-opus-5-5", maxTokens: young},
		{id: profile},
		{id: profile, family: "nova-pro"},
		{id: "us.amazon.nova-pro-v1:0"},
		{id: "meta.llama3-1-70b-instruct-v1:0"},
	}
	for _, tt := range tests {
		t.Run(tt.id+" "+tt.family, func(t *testing.T) {
			s := serve(t, reply(200, families["claude"].hello()))
			req := hi
			req.Temperature, req.Tools, req.ToolChoice = new(0.5), []providers.Tool{{Name: "f"}}, "required"
			_, _ = open(t, providers.Spec{Provider: "bedrock", Model: tt.id, Family: tt.family, BaseURL: s.URL}).Generate(t.Context(), req)
			body := s.sent(t)
			assert.Equal(t, tt.maxTokens > 0, strings.HasSuffix(s.paths[0], "/invoke-with-response-stream"))
			if tt.maxTokens == 0 {
				assert.True(t, strings.HasSuffix(s.paths[0], "/converse-stream"))
				return
			}
			assert.InDelta(t, tt.maxTokens, body["max_tokens"], 0)
			assert.Equal(t, tt.temperature, body["temperature"] != nil, "temperature")
			assert.Equal(t, tt.forced, body["tool_choice"] != nil, "forced")
			assert.Equal(t, !tt.forced, strings.Contains(s.bodies[0], "Answer by calling at least one of the tools."), "told")
		})
	}
}

// Credentials that may not stream get answers in one piece, from the second request
// on.
func TestNoRightToStream(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, f.stream) {
					refuse(403, "AccessDeniedException", "User is not authorized to perform: bedrock:InvokeModelWithResponseStream")(w, r)
					return
				}
				reply(200, f.hello())(w, r)
			})
			m := f.open(t, s)
			for range 2 {
				got, err := m.Generate(t.Context(), hi)
				require.NoError(t, err)
				assert.Equal(t, "hello", got.Text)
			}
			assert.Equal(t, 3, s.hits())
		})
	}
}

func TestParts(t *testing.T) {
	req := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "look", Parts: []providers.Part{
		{Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")},
		{Kind: providers.DocumentPart, Media: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
	}}}}
	wants := map[string]string{
		"claude": `[{"type":"text","text":"look"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},
			{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}}]`,
		"converse": `[{"text":"look"},
			{"image":{"format":"png","source":{"bytes":"cG5n"}}},
			{"document":{"format":"pdf","name":"document-2","source":{"bytes":"cGRm"}}}]`,
	}
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			_, err := f.open(t, s).Generate(t.Context(), req)
			require.NoError(t, err)
			var body struct {
				Messages []struct{ Content json.RawMessage }
			}
			require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &body))
			assert.JSONEq(t, wants[name], string(body.Messages[0].Content))
		})
	}
	far := hi
	far.Messages = []providers.Message{{Role: providers.User, Parts: []providers.Part{{Kind: providers.ImagePart, URL: "https://example.com/a.png"}}}}
	s := serve(t, reply(200, "{}"))
	_, err := families["converse"].open(t, s).Generate(t.Context(), far)
	assert.Equal(t, providers.Invalid, fault(t, err).Kind)
	assert.Zero(t, s.hits())
}

// frames answers everything with a stream of these bytes.
type frames []byte

func (f frames) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(f)),
	}, nil
}

// FuzzStream reads anything as a stream: it ends, with an answer or an error.
func FuzzStream(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 0, 5, 194, 72, 235, 125, 152, 200, 255}) // an empty event
	for _, family := range families {
		f.Add(bytes.Join(append(append(family.start(usage), family.delta("a")), family.end("end_turn", usage)...), nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, family := range families {
			m, err := bedrock.Opener{Credentials: keys, Region: home, Transport: frames(data), MaxBody: 1 << 20}.
				Open(providers.Spec{Provider: "bedrock", Model: family.model})
			require.NoError(t, err)
			told := ""
			req := hi
			req.OnText = func(text string) error { told += text; return nil }
			got, err := m.Generate(t.Context(), req)
			if err == nil && got.Text != told {
				t.Errorf("OnText got %q, want %q", told, got.Text)
			}
		}
	})
}

// Nova's instructions and conversations are marked for the cache; where a mark is
// refused, it is left out from then on.
func TestCacheOfNova(t *testing.T) {
	long := providers.Message{Role: providers.System, Text: strings.Repeat("You are thorough. ", 300)}
	clock := []providers.Tool{{Name: "clock", Input: json.RawMessage(`{"type":"object"}`)}}
	talk := []providers.Message{
		long,
		{Role: providers.User, Text: "hi"},
		{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "a", Name: "clock"}}},
		{Role: providers.ToolRole, ToolID: "a", Text: "noon"},
	}
	const system, messages = `},{"cachePoint":{"type":"default"}}]`, `"toolUseId":"a"}},{"cachePoint":{"type":"default"}}]`
	loop := providers.Request{Messages: talk, Tools: clock}
	brief := providers.Request{Messages: append([]providers.Message{{Role: providers.System, Text: "Be brief."}}, talk[1:]...), Tools: clock}
	const refused = "The model returned the following errors: Malformed input request: #/%s: extraneous key [cachePoint] is not permitted, please reformat your input and try again."
	tests := []struct {
		name, model, family string
		noCache             bool
		req                 providers.Request
		refuse              string // what is said of the first request; "": it is answered
		marks               int
		holds               string
	}{
		{name: "a loop", model: "us.amazon.nova-pro-v1:0", req: loop, marks: 2, holds: messages},
		{name: "by its family", model: "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", family: "nova-lite", req: loop, marks: 2},
		{name: "instructions alone", model: "amazon.nova-2-lite-v1:0", req: providers.Request{Messages: talk[:2]}, marks: 1, holds: system},
		{name: "too short", model: "amazon.nova-pro-v1:0", req: brief},
		{name: "not wanted", model: "amazon.nova-pro-v1:0", noCache: true, req: loop},
		{name: "another model", model: "meta.llama3-1-70b-instruct-v1:0", req: loop},
		{name: "refused in messages", model: "amazon.nova-pro-v1:0", req: loop, refuse: fmt.Sprintf(refused, "messages/2/content/1"), marks: 1, holds: system},
		{name: "refused in system", model: "amazon.nova-pro-v1:0", req: loop, refuse: fmt.Sprintf(refused, "system/1"), marks: 1, holds: messages},
		{name: "refused", model: "amazon.nova-pro-v1:0", req: loop, refuse: "cachePoint is not supported by this model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if n++; n == 1 && tt.refuse != "" {
					refuse(400, "ValidationException", tt.refuse)(w, r)
					return
				}
				reply(200, families["converse"].hello())(w, r)
			})
			m, err := bedrock.Opener{Credentials: keys, Region: home, NoCache: tt.noCache}.
				Open(providers.Spec{Provider: "bedrock", Model: tt.model, Family: tt.family, BaseURL: s.URL})
			require.NoError(t, err)
			for range 2 {
				got, err := m.Generate(t.Context(), tt.req)
				require.NoError(t, err)
				assert.Equal(t, usage.CacheRead, got.Usage.CacheRead)
			}
			last := s.bodies[len(s.bodies)-1]
			assert.Equal(t, tt.marks, strings.Count(last, "cachePoint"), last)
			assert.Contains(t, last, tt.holds)
			hits := 2
			if tt.refuse != "" {
				hits++
			}
			assert.Len(t, s.bodies, hits, "it is refused once")
		})
	}
}
