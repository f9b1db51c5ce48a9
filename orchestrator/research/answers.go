package research

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// What agents are told to answer with.
var (
	planWanted = json.RawMessage(`{"type":"object","required":["complexity","steps"],"properties":{` +
		`"complexity":{"type":"number","minimum":0,"maximum":1},` +
		`"steps":{"type":"array","items":{"type":"object","required":["category","workers","mode"],"properties":{` +
		`"id":{"type":"string"},"name":{"type":"string"},"category":{"type":"string"},"workers":{"type":"array","items":{"type":"string"}},` +
		`"mode":{"type":"string"},"depends_on":{"type":"array","items":{"type":"string"}}}}},` +
		`"notes":{"type":"array","items":{"type":"string"}},"drop":{"type":"array","items":{"type":"string"}}}}`)

	marksWanted = json.RawMessage(`{"type":"object","required":["article","source","factual","writing"],"properties":{` +
		`"article":{"type":"number","minimum":0,"maximum":1},"source":{"type":"number","minimum":0,"maximum":1},` +
		`"factual":{"type":"number","minimum":0,"maximum":1},"writing":{"type":"number","minimum":0,"maximum":1},` +
		`"completeness":{"type":"number","minimum":0,"maximum":1},"feedback":{"type":"string"},"issues":{"type":"array","items":{"type":"string"}}}}`)

	findingsWanted = json.RawMessage(`{"type":"object","required":["sources"],"properties":{` +
		`"sources":{"type":"array","items":{"type":"object","required":["title"],"properties":{` +
		`"title":{"type":"string"},"url":{"type":"string"},"kind":{"type":"string"},"relevance":{"type":"number"},"excerpt":{"type":"string"}}}},` +
		`"summary":{"type":"string"}}}`)

	draftWanted = json.RawMessage(`{"type":"object","required":["content"],"properties":{"title":{"type":"string"},"content":{"type":"string"}}}`)
)

var (
	planIn     = answer.MustFromSchema(string(planWanted))
	marksIn    = answer.MustFromSchema(string(marksWanted))
	findingsIn = answer.MustFromSchema(string(findingsWanted))
	draftIn    = answer.MustFromSchema(string(draftWanted))
)

// read finds a value of that shape in an answer.
func read(shape *answer.Shape, resp agent.Response, v any) error {
	found, err := shape.Find(resp.Data, resp.Text)
	if err != nil {
		return err
	}
	return json.Unmarshal(found, v)
}

var errNothing = errors.New("the answer is empty")

// payload is what a worker of that category made, in the form in which others get it
// (RX6): findings, a draft, or any JSON. Text that is none becomes {"text": …}, or a
// draft's content.
func payload(category Category, resp agent.Response) (json.RawMessage, error) {
	if strings.TrimSpace(resp.Text) == "" && resp.Data == nil {
		return nil, errNothing
	}
	switch category {
	case Researching:
		var f Findings
		if err := read(findingsIn, resp, &f); err != nil {
			return nil, err
		}
		for i, s := range f.Sources {
			if !(s.Relevance >= 0 && s.Relevance <= 1) { // also refuses NaN
				return nil, fmt.Errorf("sources[%d].relevance is %v, want 0 to 1", i, s.Relevance)
			}
		}
		return agent.JSON(f), nil
	case Writing:
		var d Draft
		if err := read(draftIn, resp, &d); err != nil {
			d = Draft{Content: resp.Text}
		}
		if strings.TrimSpace(d.Content) == "" {
			return nil, errNothing
		}
		return agent.JSON(d), nil
	case Analysing, Checking:
	}
	if resp.Data != nil {
		return resp.Data, nil
	}
	if text := []byte(strings.TrimSpace(resp.Text)); json.Valid(text) {
		return text, nil
	}
	return agent.JSON(map[string]string{"text": resp.Text}), nil
}

// wanted is the schema that a worker of that category is given; nil: free text.
func wanted(category Category) json.RawMessage {
	switch category {
	case Researching:
		return findingsWanted
	case Writing:
		return draftWanted
	case Analysing, Checking:
	}
	return nil
}

// check returns what makes marks unusable (RX7).
func (m Marks) check(w grading.Weights) error {
	if _, err := grading.Overall(m.Facets, w); err != nil {
		return err
	}
	if c := m.Completeness; c != nil && (math.IsNaN(*c) || *c < 0 || *c > 1) {
		return fmt.Errorf("completeness is %v, want 0 to 1", *c)
	}
	return nil
}

// metaLimits are those of planner, supervisor and merger: the flow's attempts are the
// only ones, and an answer that cannot be used is sent back twice (RX6).
func (r *run) metaLimits() agent.Limits {
	return agent.Limits{Attempts: 1, Repairs: 2, Timeout: 300 * time.Second}
}

// persist asks an agent without which there is no run, until it answers or has no
// attempts left (RX18, RX27).
func persist[T any](r *run, c *orchestrator.Context, who string, ask func() (T, agent.Response, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		v, _, err := ask()
		switch {
		case err == nil:
			return v, nil
		case orchestrator.IsOver(err), errors.Is(err, orchestrator.ErrFlow):
			return v, err
		case errors.Is(err, orchestrator.ErrMalformed):
			return v, fmt.Errorf("%w: %w", ErrOutput, err)
		case routing.OnFailure(attempt, r.cfg.Attempts, retryable(err), false, true) != routing.Retry:
			return v, fmt.Errorf("%w: %s failed after %s: %w", ErrAgent, who, attempts(attempt), err)
		}
		if err := r.pause(c, err, Event{Worker: who, Attempt: attempt + 1}); err != nil {
			return v, err
		}
	}
}

// pause waits before attempt e.Attempt, at least as long as the vendor wants and no
// longer than there is time (R69, RX13).
func (r *run) pause(c *orchestrator.Context, failed error, e Event) error {
	e.Wait = routing.Backoff(e.Attempt, r.cfg.BackoffBase, r.cfg.BackoffFactor, 0)
	if a, ok := errors.AsType[*agent.Error](failed); ok {
		e.Wait = max(e.Wait, a.RetryAfter)
	}
	if limit := r.state.Brief.MaxTime; limit > 0 {
		e.Wait = min(e.Wait, max(limit-c.Elapsed(), 0))
	}
	e.Text = prompt.OneLine(failed.Error())
	c.Emit("worker_retry", e)
	return c.Sleep(e.Wait)
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

func dollars(n providers.NanoUSD) float64 { return float64(n) / float64(providers.USD) }
