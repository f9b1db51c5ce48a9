package orchestrator_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/openai"
)

// gateway answers every request with a body under a label, without a network.
type gateway struct {
	label, body string
	asked       atomic.Int64
}

func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	g.asked.Add(1)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {g.label}}, Body: io.NopCloser(strings.NewReader(g.body)), Request: r,
	}, nil
}

// api is one of the formats of models, with a stream that breaks off after 400 bytes of
// text.
type api struct {
	spec providers.Spec
	cut  string
}

func apis() map[string]api {
	text, price := strings.Repeat("abcd", 100), &providers.Price{Input: providers.USD, Output: providers.USD}
	return map[string]api{
		"chat completions": {
			providers.Spec{Provider: "corp", Model: "m", BaseURL: "http://h/v1", Price: price},
			`data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n",
		},
		"responses": {
			providers.Spec{Provider: "corp", Model: "m", BaseURL: "http://h/v1", API: "responses", Price: price},
			`data: {"type":"response.output_text.delta","delta":"` + text + `"}` + "\n\n",
		},
		"gemini": {
			providers.Spec{Provider: "google", Model: "m", BaseURL: "http://h/v1beta/openai", Price: price},
			`data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n",
		},
		"messages": {
			providers.Spec{Provider: "anthropic", Model: "claude-sonnet-4-5", BaseURL: "http://h", Price: price},
			"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}` + "\n\n",
		},
	}
}

// ask makes one call of the model behind g in a run, and returns how the run ended.
func (a api) ask(t *testing.T, g *gateway, budget orchestrator.Budget) orchestrator.Info {
	t.Helper()
	keys := providers.Keys{"corp": "key-0", "google": "key-1", "anthropic": "key-2"}
	m, err := providers.Openers{
		"": openai.Opener{Keys: keys, Transport: g}.Open, "anthropic": anthropic.Opener{Keys: keys, Transport: g}.Open,
	}.Open(a.spec)
	require.NoError(t, err)
	e := local(t, orchestrator.Config{Agents: agent.Roster{"a": agent.LLM{Model: m}}})
	run, err := flow("asks", func(c *orchestrator.Context) (string, error) {
		resp, err := c.Call("a", agent.Request{Prompt: "hi"})
		return resp.Text, err
	}).Start(t.Context(), e, none{}, orchestrator.StartOptions{Budget: budget})
	require.NoError(t, err)
	require.NoError(t, run.Wait(t.Context()))
	info, err := run.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, orchestrator.Failed, info.Status)
	return info
}

// Answers that were paid for and cannot be read are in what a run has spent, attempt by
// attempt, so that its budgets see them.
func TestUnreadableAnswersAreSpent(t *testing.T) {
	for name, a := range apis() {
		for _, label := range []string{"application/json", "text/event-stream", "text/plain"} {
			t.Run(name+" cut off as "+label, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := &gateway{label: label, body: a.cut}
					info := a.ask(t, g, orchestrator.Budget{})
					assert.Equal(t, int64(4), g.asked.Load(), "a transient failure")
					want := providers.Usage{Calls: 4, Input: 4, Output: 4 * 101}
					want.Cost = a.spec.Price.Cost(want)
					assert.Equal(t, want, info.Spent)
				})
			})
		}
		t.Run(name+" as garbage", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := a
				free.spec.Price = nil
				g := &gateway{label: "application/json", body: `{"choices":[{"message":{"content":"` + strings.Repeat("x", 365)}
				info := free.ask(t, g, orchestrator.Budget{})
				assert.Equal(t, providers.Usage{Calls: 4, Input: 4, Output: 4 * 101, Unpriced: 4}, info.Spent)
			})
		})
		t.Run(name+" within a budget", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gateway{label: "application/json", body: a.cut}
				one := a.spec.Price.Cost(providers.Usage{Input: 1, Output: 101})
				info := a.ask(t, g, orchestrator.Budget{Cost: 2*one + one/2})
				assert.Less(t, g.asked.Load(), int64(4), "further attempts do not fit the budget")
				assert.Equal(t, g.asked.Load(), info.Spent.Calls)
				assert.Equal(t, one*providers.NanoUSD(info.Spent.Calls), info.Spent.Cost)
			})
		})
		t.Run(name+" as a page", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gateway{label: "text/html", body: "<html><body>Sign in"}
				info := a.ask(t, g, orchestrator.Budget{})
				assert.Equal(t, int64(1), g.asked.Load(), "the page would come again")
				assert.Equal(t, providers.Usage{Calls: 1}, info.Spent, "nobody was paid")
				assert.Contains(t, info.Err, "text/html")
			})
		})
	}
}
