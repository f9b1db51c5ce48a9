package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// allKeys are in the environment, whichever vendor is called. No key has a shape by
// which it would be taken out of a text.
var allKeys = map[string]string{
	"OPENAI_API_KEY":        "key-of-openai",
	"ANTHROPIC_API_KEY":     "key-of-anthropic",
	"GEMINI_API_KEY":        "key-of-google",
	"ZAI_API_KEY":           "key-of-glm",
	"AZURE_OPENAI_API_KEY":  "key-of-azure",
	"ACME_KEY":              "key-of-acme",
	"AWS_ACCESS_KEY_ID":     "key-of-aws-id",
	"AWS_SECRET_ACCESS_KEY": "key-of-aws-secret",
	"AWS_SESSION_TOKEN":     "key-of-aws-session",
	"AWS_REGION":            "eu-west-3",
}

// vendor is how a vendor is asked, and how it answers.
type vendor struct {
	model   string
	flags   []string
	base    string            // the path of the base URL
	request string            // what is asked for, behind it
	keys    map[string]string // headers with a key, as regular expressions
	typed   string            // what requests have that want JSON
	answer  func(text, body string) any
	refuses []string // parameters that it does not take
}

const claudeOnBedrock = "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"

var vendors = map[string]vendor{
	"openai": {
		model: "openai:gpt-4o-mini", base: "/v1", request: "/chat/completions",
		keys: map[string]string{"Authorization": "^Bearer key-of-openai$"}, typed: `"json_schema"`, answer: chat,
	},
	"anthropic": {
		model: "anthropic:claude-sonnet-5-5", base: "/v1", request: "/messages",
		keys: map[string]string{"X-Api-Key": "^key-of-anthropic$"}, typed: `"output_config"`, answer: messages,
	},
	"google": {
		model: "google:gemini-2.5-flash", base: "/v1beta/openai", request: "/chat/completions",
		keys: map[string]string{"Authorization": "^Bearer key-of-google$"}, typed: `"json_schema"`, answer: chat,
	},
	"glm": {
		model: "glm:glm-4.6", base: "/api/paas/v4", request: "/chat/completions",
		keys: map[string]string{"Authorization": "^Bearer key-of-glm$"}, typed: `"json_object"`, answer: chat,
	},
	"ollama": {
		model: "ollama:llama3:8b", base: "/v1", request: "/chat/completions", typed: `"json_schema"`, answer: chat,
	},
	"azure": {
		model: "azure:deployed", request: "/openai/v1/chat/completions",
		keys: map[string]string{"Api-Key": "^key-of-azure$"}, typed: `"json_schema"`, answer: chat,
	},
	"azure by version": {
		model: "azure:deployed", flags: []string{"-api-version", "2025-04-01-preview"},
		request: "/openai/deployments/deployed/chat/completions?api-version=2025-04-01-preview",
		keys:    map[string]string{"Api-Key": "^key-of-azure$"}, typed: `"json_schema"`, answer: chat,
	},
	"bedrock": {
		model: "bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0", request: claudeOnBedrock,
		keys: signed("eu-west-3"), typed: `"tool_choice"`, answer: messages,
	},
	"bedrock by region": {
		model: "bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0", flags: []string{"-region", "us-east-1"},
		request: claudeOnBedrock, keys: signed("us-east-1"), typed: `"tool_choice"`, answer: messages,
	},
	"a reasoning model": {
		model: "openai:gpt-6-sol", base: "/v1", request: "/chat/completions", refuses: []string{"temperature", "top_p", "max_tokens"},
		keys: map[string]string{"Authorization": "^Bearer key-of-openai$"}, typed: `"json_schema"`, answer: chat,
	},
	"a server that refuses a temperature": {
		model: "acme:m", flags: []string{"-key-env", "ACME_KEY"}, base: "/api", request: "/chat/completions", refuses: []string{"temperature", "stream_options"},
		keys: map[string]string{"Authorization": "^Bearer key-of-acme$"}, typed: `"json_schema"`, answer: chat,
	},
	"a compatible server": {
		model: "acme:m", flags: []string{"-key-env", "ACME_KEY"}, base: "/api", request: "/chat/completions",
		keys: map[string]string{"Authorization": "^Bearer key-of-acme$"}, typed: `"json_schema"`, answer: chat,
	},
}

// signed are the headers of a request that AWS takes in a region.
func signed(region string) map[string]string {
	return map[string]string{
		"Authorization":        `^AWS4-HMAC-SHA256 Credential=key-of-aws-id/\d{8}/` + region + `/bedrock/aws4_request, .*Signature=[0-9a-f]{64}$`,
		"X-Amz-Security-Token": "^key-of-aws-session$",
	}
}

// chat answers as OpenAI's chat completions do.
func chat(text, _ string) any {
	return map[string]any{
		"id": "1", "object": "chat.completion",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text}}},
		"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
	}
}

// messages answers as Anthropic does: with the call of a tool if there has to be one.
func messages(text, body string) any {
	var req struct {
		ToolChoice struct{ Name string } `json:"tool_choice"`
	}
	block, stop := map[string]any{"type": "text", "text": text}, "end_turn"
	if err := json.Unmarshal([]byte(body), &req); err == nil && req.ToolChoice.Name != "" {
		block = map[string]any{"type": "tool_use", "id": "1", "name": req.ToolChoice.Name, "input": json.RawMessage(text)}
		stop = "tool_use"
	}
	return map[string]any{
		"id": "1", "type": "message", "role": "assistant", "content": []any{block}, "stop_reason": stop,
		"usage": map[string]any{"input_tokens": 100, "output_tokens": 50},
	}
}

// serve starts a stub of v that counts its calls. It grades where JSON is wanted, and
// else says one sentence.
func (v vendor) serve(t *testing.T, calls *atomic.Int64) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		for _, param := range v.refuses {
			if strings.Contains(string(body), `"`+param+`":`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: '%s' is not supported with this model.","param":%q,"code":"unsupported_parameter"}}`, param, param)
				return
			}
		}
		assert.Contains(t, string(body)+r.RequestURI, "stream", "a long answer in one piece is refused")
		calls.Add(1)
		assert.Equal(t, v.base+v.request, r.RequestURI)
		for header, want := range v.keys {
			assert.Regexp(t, want, r.Header.Get(header), header)
			r.Header.Del(header)
		}
		assert.NotContains(t, fmt.Sprint(r.RequestURI, r.Header, string(body)), "key-of-", "a key that is not needed")
		text := "Aladdin runs."
		if strings.Contains(string(body), v.typed) {
			text = `{"quality":0.9,"relevance":0.9,"consistency":0.9,"suggestions":[]}`
		}
		w.Header().Set("Content-Type", "application/json")
		assert.NoError(t, json.NewEncoder(w).Encode(v.answer(text, string(body))))
	}))
	t.Cleanup(s.Close)
	return s.URL + v.base
}

func TestVendors(t *testing.T) {
	for name, v := range vendors {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			url, dir := v.serve(t, &calls), t.TempDir()
			file := filepath.Join(dir, "o.json")
			args := []string{bread, "-model", v.model, "-base-url", url, "-price", "1,2", "-budget", "1", "-db", filepath.Join(dir, "f.db"), "-o", file}
			got := start(t, allKeys, append(args, v.flags...)...)
			require.Equal(t, 0, got.Code, got.Err)
			assert.Empty(t, got.Err)

			out, n := outcome(t, file), calls.Load()
			assert.Equal(t, orchestrator.Completed, out.Status)
			assert.Empty(t, out.Warnings)
			assert.Equal(t, "Aladdin runs.", hierarchy.Text(out.Output["result"]))
			require.Len(t, out.Reports, 4)
			for _, r := range out.Reports {
				assert.Equal(t, hierarchy.FromSpecialists, r.Basis, r.DepartmentID)
				for _, s := range r.Specialists {
					require.Len(t, s.Attempts, 1, s.AgentID)
					assert.InDelta(t, 90, s.Attempts[0].Score, 0.001, s.AgentID)
				}
			}
			assert.Equal(t, n, out.Spent.Calls, "none was sent again")
			assert.Equal(t, 200_000*n, int64(out.Spent.Cost), "100 tokens at 1 USD and 50 at 2 USD a million")

			assert.Contains(t, got.Out, "agents: "+v.model+" at "+url+"\n")
			assert.Contains(t, got.Out, "\nResult\n  Aladdin runs.\n")
			assert.Contains(t, got.Out, fmt.Sprintf(", %d calls, %.4f USD, %d tokens, ", n, 0.0002*float64(n), 150*n))
			noKeys(t, dir, got)
		})
	}
}

// noKeys looks for keys in what a run printed and in the files that it left.
func noKeys(t *testing.T, dir string, got clitest.Ran) {
	t.Helper()
	assert.NotContains(t, got.Out+got.Err, "key-of-")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		if f.IsDir() {
			continue // of empty lock files
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		assert.NotContains(t, string(data), "key-of-", f.Name())
	}
}
