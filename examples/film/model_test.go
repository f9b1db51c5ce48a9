package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// stub speaks OpenAI's chat completions: it grades where JSON is wanted, and else
// says one sentence.
type stub struct {
	*httptest.Server
	calls  atomic.Int64
	status atomic.Int64
	text   string
}

func newStub(t *testing.T, status int) *stub {
	t.Helper()
	s := &stub{text: "Aladdin runs."}
	s.status.Store(int64(status))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, "/v1/chat/completions", r.URL.Path)
		assert.Equal(t, "Bearer sk-test", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		if status := int(s.status.Load()); status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"wrong key","type":"invalid_request_error"}}`)
			return
		}
		text := s.text
		if strings.Contains(string(body), "json_schema") {
			text = `{"quality":0.9,"relevance":0.9,"consistency":0.9,"suggestions":[]}`
		}
		reply := map[string]any{
			"id": "1", "object": "chat.completion", "model": "gpt-4o-mini",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text}}},
			"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
		}
		assert.NoError(t, json.NewEncoder(w).Encode(reply))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestModel(t *testing.T) {
	s, dir := newStub(t, http.StatusOK), t.TempDir()
	file := filepath.Join(dir, "o.json")
	args := []string{
		bread, "-model", "openai:gpt-4o-mini", "-base-url", s.URL + "/v1", "-key-env", "ACME_KEY",
		"-price", "1,2", "-budget", "1", "-db", filepath.Join(dir, "f.db"), "-o", file,
	}
	env := map[string]string{"ACME_KEY": "sk-test", "OPENAI_API_KEY": "sk-another"}
	got := start(t, env, args...)
	require.Equal(t, 0, got.Code, got.Err)
	out := outcome(t, file)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, "Aladdin runs.", hierarchy.Text(out.Output["result"]))
	assert.Equal(t, s.calls.Load(), out.Spent.Calls)
	assert.Equal(t, 200_000*out.Spent.Calls, int64(out.Spent.Cost), "100 tokens at 1 USD and 50 at 2 USD a million")
	assert.Contains(t, got.Out, "agents: openai:gpt-4o-mini at "+s.URL)
	assert.NotContains(t, strings.ToLower(got.Out), "rehearsal")
	assert.NotContains(t, got.Out, "sk-")

	before := s.calls.Load()
	got = start(t, env, args...)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Equal(t, before, s.calls.Load(), "an ended run is reported from the log")
	got = start(t, nil, bread, "-pace", "0", "-db", filepath.Join(dir, "f.db"))
	require.Equal(t, 0, got.Code, got.Err)
	assert.NotContains(t, got.Out, "ended earlier", "the rehearsal's run is another one")
}

func TestModelOverBudget(t *testing.T) {
	s := newStub(t, http.StatusOK)
	got := start(t, map[string]string{"OPENAI_API_KEY": "sk-test"}, bread, "-model", "openai:gpt-4o-mini",
		"-base-url", s.URL+"/v1", "-price", "1,2", "-budget", "0.002", "-db", filepath.Join(t.TempDir(), "f.db"))
	assert.Equal(t, cli.Failed, got.Code)
	assert.Contains(t, got.Err, "budget")
	assert.LessOrEqual(t, s.calls.Load(), int64(10), "each call costs 0.0002 USD")
}

func TestModelWithoutAPrice(t *testing.T) {
	s := newStub(t, http.StatusOK)
	got := start(t, map[string]string{"OPENAI_API_KEY": "sk-test"}, bread, "-model", "openai:gpt-4o-mini",
		"-base-url", s.URL+"/v1", "-db", filepath.Join(t.TempDir(), "f.db"))
	require.Equal(t, 0, got.Code, got.Err)
	n := s.calls.Load()
	assert.Contains(t, got.Out, fmt.Sprintf("at least 0.0000 USD (%d calls without a known price), %d tokens", n, 150*n))
}

// A refused key suspends the run: with a valid one it resumes, and no agent has used up
// its attempts.
func TestModelRefusesTheKey(t *testing.T) {
	s, dir := newStub(t, http.StatusUnauthorized), t.TempDir()
	args := []string{bread, "-model", "openai:gpt-4o-mini", "-base-url", s.URL + "/v1", "-db", filepath.Join(dir, "f.db"), "-o", filepath.Join(dir, "o.json")}
	env := map[string]string{"OPENAI_API_KEY": "sk-test"}
	got := start(t, env, args...)
	assert.Equal(t, cli.Failed, got.Code)
	assert.Regexp(t, `^film: the model does not answer: openai:gpt-4o-mini: .*wrong key.*: suspended run film-\w+ with 0 recorded answers in .*: start film with the same request again to continue\n$`, got.Err)
	assert.NotContains(t, got.Out+got.Err, "sk-test")
	assert.LessOrEqual(t, s.calls.Load(), int64(6), "only those that were under way")

	s.status.Store(http.StatusOK)
	got = start(t, env, args...)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run ")
	for _, r := range outcome(t, filepath.Join(dir, "o.json")).Reports {
		for _, a := range r.Specialists {
			for _, attempt := range a.Attempts {
				assert.Empty(t, attempt.Error, a.AgentID)
			}
		}
	}
}

func TestTextsHaveNoControlSequences(t *testing.T) {
	s := newStub(t, http.StatusOK)
	s.text = "\x1b[2JAladdin\x07 runs\u009b31m."
	got := start(t, map[string]string{"OPENAI_API_KEY": "sk-test"}, bread, "-model", "openai:gpt-4o-mini",
		"-base-url", s.URL+"/v1", "-db", filepath.Join(t.TempDir(), "f.db"))
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "[2JAladdin runs31m.")
	assert.NotContains(t, got.Out, "\x1b")
}

// The studio asks models that refuse what today's models refuse.
func TestStrictModels(t *testing.T) {
	for _, model := range clitest.StrictModels {
		t.Run(model, func(t *testing.T) {
			s := clitest.NewStrict(t, model, func(body string) string {
				if strings.Contains(body, "suggestions") { // which the schema of a grade has
					return `{"quality":0.9,"relevance":0.9,"consistency":0.9,"suggestions":[]}`
				}
				return "Aladdin runs."
			})
			dir := t.TempDir()
			file := filepath.Join(dir, "o.json")
			got := start(t, s.Env(), slices.Concat(s.Flags(), []string{bread, "-db", filepath.Join(dir, "f.db"), "-o", file})...)
			require.Equal(t, 0, got.Code, got.Err)
			out := outcome(t, file)
			assert.Equal(t, orchestrator.Completed, out.Status)
			assert.Equal(t, "Aladdin runs.", hierarchy.Text(out.Output["result"]))
			assert.Equal(t, s.Calls.Load(), out.Spent.Calls, "none was sent again")
			if strings.HasPrefix(model, "deepseek:") { // whose refusals have to be learned
				assert.LessOrEqual(t, s.Refused.Load(), int64(6), "once for each call that was under way")
			} else {
				assert.Zero(t, s.Refused.Load(), "nothing that is known to be refused was sent")
			}
		})
	}
}
