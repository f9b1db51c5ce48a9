// Package stubtest plays the situations of package modeltest with a scripted model,
// for the tests of models that wrap others.
package stubtest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/modeltest"
)

// Open is a [modeltest.Open] for a fake model.
func Open(_ testing.TB, p modeltest.Play) modeltest.Subject {
	m := fake.New(nil)
	m.When(fake.Rule{Answer: fake.Answer{From: func(req providers.Request) (fake.Answer, error) { return say(p, Body(req)), nil }}})
	return modeltest.Subject{Model: stalled(p, m), Sent: func() []string { return bodies(m) }}
}

// stalled is m, or m that hangs after its first chunk.
func stalled(p modeltest.Play, m *fake.Model) providers.Model {
	if p.Situation != modeltest.Stall {
		return m
	}
	return providers.ModelFunc(func(ctx context.Context, req providers.Request) (providers.Response, error) {
		tell := req.OnText
		req.OnText = func(chunk string) error {
			if err := tell(chunk); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}
		return m.Generate(ctx, req)
	})
}

// say is the answer that p requires of a vendor for body.
func say(p modeltest.Play, body string) fake.Answer {
	text, calls := p.Reply(body)
	a := fake.Answer{Text: text, ToolCalls: calls, Chunks: modeltest.Chunks(text), Usage: p.Usage}
	switch p.Situation {
	case modeltest.Answer, modeltest.Echo, modeltest.ToolCalls, modeltest.Stall:
	case modeltest.Length:
		a.Stop = providers.StopLength
	case modeltest.Refusal:
		a.Stop = providers.StopFilter
	case modeltest.Slow:
		return fake.Hang()
	case modeltest.Empty, modeltest.Cut, modeltest.Garbled, modeltest.Page, modeltest.RateLimited, modeltest.Quota,
		modeltest.Unauthorized, modeltest.TooLong, modeltest.BadRequest, modeltest.Overloaded, modeltest.Broken:
		e := failures[p.Situation]
		switch p.Situation { //nolint:exhaustive // the others cost nothing
		case modeltest.Empty, modeltest.Cut, modeltest.Garbled:
			e.Usage = p.Usage
		}
		e.Model, e.Message, e.RetryAfter = "fake:model", fmt.Sprintf("the vendor says: %s", p.Situation), p.RetryAfter
		if p.Situation == modeltest.Page {
			e.Message = "the answer is text/html"
		}
		return fake.Answer{Err: &e}
	}
	return a
}

var failures = map[modeltest.Situation]providers.Error{
	modeltest.Empty:        {Kind: providers.Transient, Status: 200},
	modeltest.Cut:          {Kind: providers.Transient, Status: 200},
	modeltest.Garbled:      {Kind: providers.Transient, Status: 200},
	modeltest.Page:         {Kind: providers.Permanent, Status: 200},
	modeltest.RateLimited:  {Kind: providers.RateLimited, Status: 429},
	modeltest.Quota:        {Kind: providers.Permanent, Status: 429},
	modeltest.Unauthorized: {Kind: providers.Permanent, Status: 401},
	modeltest.TooLong:      {Kind: providers.Invalid, Status: 400, TooLong: true},
	modeltest.BadRequest:   {Kind: providers.Invalid, Status: 400},
	modeltest.Overloaded:   {Kind: providers.Transient, Status: 503},
	modeltest.Broken:       {Kind: providers.Transient, Status: 500},
}

// Body is a request as it might be sent to a vendor.
func Body(r providers.Request) string {
	data, err := json.Marshal(struct {
		Messages    []providers.Message
		Tools       []providers.Tool `json:",omitempty"`
		ToolChoice  string           `json:",omitempty"`
		Output      json.RawMessage  `json:",omitempty"`
		MaxTokens   int              `json:",omitempty"`
		Temperature *float64         `json:",omitempty"`
		Params      providers.Params `json:",omitzero"`
	}{r.Messages, r.Tools, r.ToolChoice, r.Output, r.MaxTokens, r.Temperature, r.Params})
	if err != nil {
		return err.Error() // a RawMessage that is no JSON
	}
	return string(data)
}

func bodies(m *fake.Model) []string {
	var out []string
	for _, r := range m.Requests() {
		out = append(out, Body(r))
	}
	return out
}
