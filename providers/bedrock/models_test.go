package bedrock_test

import (
	"bytes"
	"encoding/json"
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
