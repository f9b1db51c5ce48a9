package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
)

// The errors of an [LLM] that callers tell apart.
const (
	// ErrRefused says that a model, or its vendor's filter, refused to answer. The
	// error's text has the model's words.
	ErrRefused = Code("refused")

	// ErrTurns says that a model still asked for tools after LLM.MaxTurns.
	ErrTurns = Code("too-many-turns")

	// ErrCut says that a model's answer was cut off, by Limits.MaxTokens or a limit
	// of its own, while it asked for tools. None of them was called.
	ErrCut = Code("cut-off")
)

// LLM is an agent made of a model, with instructions and tools. It is safe for
// concurrent calls and keeps no conversation: Request.History brings it, and
// [Continue] returns the request with all that was said.
//
// Request.Prompt becomes the user's message, with Request.Input behind it as
// delimited data that cannot close its delimiter; neither ever becomes a system
// message. The answer is Response.Text, also where Request.Output asks for JSON:
// orchestrator.Ask finds the JSON in it and checks it.
//
// With Tools, the model is asked in turns, until it answers without asking for
// any. The tools of one turn run at the same time; their results keep the order in
// which they were asked for. Of more than 128 in one turn the others are answered
// with an error. Usage is that of all turns and tool calls, beside an error too.
//
// Limits.ToolCalls and Limits.Slice cut the loop into slices: once so many tools
// have been called, or so much time has passed, Call returns after the results of
// a turn, with Response.More set and without Text. Continue the work like this, in
// another process too:
//
//	for err == nil && resp.More {
//		req = agent.Continue(req, resp)
//		resp, err = c.Call("coder", req)
//	}
//
// A call that fails is made again as a whole, its tool calls included. So where
// there are slices, one in which a later turn fails transiently ends before that
// turn instead, and only the turn is retried.
type LLM struct {
	Model        providers.Model // required
	Instructions string          // the system message; "": none
	Tools        []Tool          // with different names

	// MaxTurns is how often the model may be asked for one prompt, over all slices:
	// then it must have answered. 0: 20.
	MaxTurns int
}

const (
	defaultTurns = 20
	maxCalls     = 128 // tool calls of one turn
)

// Call implements [Agent]. Under a limit on cost, a model without a known price is
// refused, and no turn starts once the turns before it have reached the limit: both
// with the code "budget".
func (a LLM) Call(ctx context.Context, req Request) (Response, error) {
	l, err := a.begin(req)
	if err != nil {
		return Response{}, err
	}
	resp, err := l.run(ctx)
	resp.Usage = l.spent
	return resp, err
}

// Validate returns every fault of a joined into one error, or nil. NewLocal calls it,
// and so does every Call.
func (a LLM) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("agent: LLM."+format, args...)) }
	if a.Model == nil {
		bad("Model is nil")
	}
	if a.MaxTurns < 0 {
		bad("MaxTurns is %d, want 0 or more", a.MaxTurns)
	}
	names := map[string]bool{}
	for i, t := range a.Tools {
		if err := t.check(); err != nil {
			bad("Tools[%d] %q: %w", i, t.Name, err)
		}
		if names[t.Name] {
			bad("Tools[%d] %q: the name is there twice", i, t.Name)
		}
		names[t.Name] = true
	}
	return errors.Join(errs...)
}

// begin returns the loop of a call before its first turn.
func (a LLM) begin(req Request) (*loop, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if p, ok := a.Model.(providers.Priced); req.Limits.Cost > 0 && !req.Limits.AllowUnpriced && (!ok || !p.Priced()) {
		return nil, fmt.Errorf("%w: the model has no known price, which a limit on cost does not allow", budget)
	}
	if a.MaxTurns == 0 {
		a.MaxTurns = defaultTurns
	}
	l := &loop{llm: a, req: req, begun: time.Now()}
	if a.Instructions != "" {
		l.talk = append(l.talk, providers.Message{Role: providers.System, Text: a.Instructions})
	}
	l.talk = append(l.talk, req.History...)
	switch prompt, last := userText(req), len(req.History)-1; {
	case prompt != "":
		l.talk = append(l.talk, providers.Message{Role: providers.User, Text: prompt})
	case last < 0 || req.History[last].Role != providers.ToolRole:
		return nil, errors.New("agent: the request has neither Prompt nor Input, nor a History that ends in results of tools")
	default:
		l.turn = turns(req.History)
	}
	l.old = len(l.talk)
	return l, nil
}

const budget Code = "budget"
