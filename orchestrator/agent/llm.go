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
	ErrRefused = Code("refused")        // the model, or its vendor's filter, refused to answer; the text has its words
	ErrTurns   = Code("too-many-turns") // the model still asked for tools after LLM.MaxTurns
	ErrCut     = Code("cut-off")        // the answer was cut off while it asked for tools: none was called
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
// With Tools, the model is asked in turns until it answers without asking for any.
// The tools of one turn run at the same time; their results keep the order in which
// they were asked for. Of more than 128 in one turn the others are answered with an
// error. Usage is that of all turns and tool calls, beside an error too.
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
// When the time of a slice is over, its tools that still run are canceled, and the
// model is shown an error for each; one that has not returned Limits.Grace later is
// left behind. So every tool call in Response.Messages has its result. An answer of the
// model is waited for. Its tools have the whole of Limits.Slice if it is the first of
// the slice, or if it came too late: a slow model must not keep tools from finishing.
//
// Between slices a flow may append a message of the system's to the History, which
// nudges the agent: the model is shown it in its place.
//
// With Compact, a conversation that outgrows the window is made shorter before the turn
// that would not fit, and once after Model has refused a request as too long. What was
// changed is in Response.Compactions, what it cost in Usage, and [Continue] goes on from
// there. Tokens are counted by [providers.Tokens], and within a call in proportion to what
// the model reported of its last turn.
//
// A call that fails is made again as a whole, its tool calls included. A slice ends
// before a later turn that fails transiently instead, so that only the turn is retried.
type LLM struct {
	Model        providers.Model // required
	Instructions string          // the system message; "": none
	Tools        []Tool          // tools for the model, each with a name of its own
	MaxTurns     int             // number of turns for one prompt, over all slices; 0: 20
	Compact      Compactor       // makes conversations shorter that outgrow Window, as a [Compact] does; nil: they stay as they are
	Window       int             // tokens that the model takes in one call, its answer included; 0: Model's own, see providers.Window
}

// Validate returns every fault of a joined into one error, or nil.
func (a LLM) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("agent: LLM."+format, args...)) }
	if a.Model == nil {
		bad("Model is nil")
	}
	if a.MaxTurns < 0 {
		bad("MaxTurns is %d, want 0 or more", a.MaxTurns)
	}
	if a.Window < 0 {
		bad("Window is %d, want 0 or more", a.Window)
	}
	if c, ok := a.Compact.(interface{ Validate() error }); ok {
		if err := c.Validate(); err != nil {
			bad("Compact: %w", err)
		}
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

// Call implements [Agent]. Under a limit on cost, a model without a known price is refused
// with the code "budget". No turn starts that does not fit into Limits.Cost, Calls or
// Tokens beside the turns before it, if it uses as much as the largest of them: that has
// the code "budget", too, and the Response beside the error has what was said so far in
// Messages, and More.
func (a LLM) Call(ctx context.Context, req Request) (Response, error) {
	if err := a.Validate(); err != nil {
		return Response{}, err
	}
	if a.MaxTurns == 0 {
		a.MaxTurns = 20
	}
	said := said(req)
	if len(said) == len(req.History) {
		if err := resumable(said); err != nil {
			return Response{}, err
		}
	}
	l := &loop{llm: a, limits: req.Limits, begun: time.Now(), ask: a.request(req, said)}
	for _, m := range l.ask.Messages {
		switch m.Role { //nolint:exhaustive // the others are no turns
		case providers.User:
			l.turn = 0
		case providers.Assistant:
			l.turn++
		}
	}
	if len(said) == len(req.History) {
		l.turn += req.Folded
	}
	resp, err := l.run(ctx)
	resp.Usage, resp.Fallbacks, resp.Compactions = l.spent, l.fallbacks, l.compactions
	return resp, err
}

// request builds the first request to the model for req. said is the conversation so
// far.
func (a LLM) request(req Request, said []providers.Message) providers.Request {
	ask := providers.Request{Output: req.Output, MaxTokens: req.Limits.MaxTokens, Temperature: req.Temperature, Params: req.Params}
	if a.Instructions != "" {
		ask.Messages = []providers.Message{{Role: providers.System, Text: a.Instructions}}
	}
	ask.Messages = append(ask.Messages, said...)
	for _, t := range a.Tools {
		ask.Tools = append(ask.Tools, t.Tool)
	}
	return ask
}

// loop is one call of an LLM.
type loop struct {
	llm    LLM
	limits Limits
	begun  time.Time
	ask    providers.Request   // request of the next turn
	news   []providers.Message // said in this call
	turn   int                 // number of turns since the prompt, in earlier slices too
	spent  providers.Usage
	most   providers.Usage // most that a turn of this call has used, each figure by itself

	fallbacks   []Fallback
	compactions []Compaction
	scale       float64 // tokens that the model counted in the last turn, by those of [providers.Tokens]; 0: none was made
}

func (l *loop) say(m ...providers.Message) {
	l.ask.Messages, l.news = append(l.ask.Messages, m...), append(l.news, m...)
}

// run asks the model in turns until there is an answer or the slice ends.
func (l *loop) run(ctx context.Context) (Response, error) {
	most, long := l.limits.ToolCalls, l.limits.Slice
	for {
		answer, err := l.next(ctx)
		if err != nil {
			e, sliced, results := ErrorOf(err), most > 0 || long > 0, len(l.news) > 0
			if results && errors.Is(err, budget) {
				return Response{Messages: l.news, More: true}, err
			}
			if !e.Transient || !sliced || !results || ctx.Err() != nil {
				return Response{}, err
			}
			l.spent = l.spent.Add(e.Usage)
			return Response{Messages: l.news, More: true}, nil
		}
		calls := recordable(answer.ToolCalls, l.ask.Messages)
		switch {
		case answer.Stop == providers.StopFilter:
			return Response{}, fmt.Errorf("%w: %s", ErrRefused, answer.Text)
		case len(calls) == 0:
			return Response{Text: answer.Text, Messages: l.news}, nil
		case answer.Stop == providers.StopLength:
			return Response{}, fmt.Errorf("%w: turn %d asks for %d tool calls, and its end is missing: none was made", ErrCut, l.turn, len(calls))
		case l.turn >= l.llm.MaxTurns:
			return Response{}, l.mayAsk()
		}
		l.say(providers.Message{Role: providers.Assistant, Text: answer.Text, ToolCalls: calls})
		if err := l.callTools(ctx, calls); err != nil {
			return Response{}, err
		}
		if most > 0 && l.spent.ToolCalls >= int64(most) || long > 0 && time.Since(l.begun) >= long {
			return Response{Messages: l.news, More: true}, nil
		}
	}
}

// mayAsk returns nil, or why there must not be another turn.
func (l *loop) mayAsk() error {
	if l.turn >= l.llm.MaxTurns {
		return fmt.Errorf("%w: the model still asks for tools in turn %d of %d", ErrTurns, l.turn, l.llm.MaxTurns)
	}
	if l.limits.Cost > 0 && !l.limits.AllowUnpriced {
		priced, ok := l.llm.Model.(providers.Priced)
		if !ok || !priced.Priced() || l.spent.Unpriced > 0 {
			return fmt.Errorf("%w: turn %d does not start: the model has no known price, which a limit on cost does not allow: give it one, or set AllowUnpriced of the budget", budget, l.turn+1)
		}
	}
	var left string
	switch {
	case beyond(int64(l.limits.Cost), int64(l.spent.Cost), int64(l.most.Cost)):
		left = "have cost " + l.spent.Cost.USD() + " of " + l.limits.Cost.USD() + " USD"
	case beyond(l.limits.Calls, l.spent.Calls, max(l.most.Calls, 1)):
		left = fmt.Sprintf("have made %d of %d calls of models", l.spent.Calls, l.limits.Calls)
	case beyond(l.limits.Tokens, tokens(l.spent), tokens(l.most)):
		left = fmt.Sprintf("have used %d of %d tokens", tokens(l.spent), l.limits.Tokens)
	default:
		return nil
	}
	return fmt.Errorf("%w: turn %d does not start: those before it %s, and it may use as much as the largest of them", budget, l.turn+1, left)
}

// beyond reports whether as much as most does not fit into limit beside what is used, or
// nothing is left. A limit of 0 is no limit.
func beyond(limit, used, most int64) bool {
	return limit > 0 && (used >= limit || most > limit-used)
}

func tokens(u providers.Usage) int64 { return u.Input + u.Output }

const budget Code = "budget"

// next makes one turn of the model, if there may be another.
func (l *loop) next(ctx context.Context) (providers.Response, error) {
	if err := l.mayAsk(); err != nil {
		return providers.Response{}, err
	}
	turn := l.turn + 1
	l.ask.OnText = nil
	if Watched(ctx) {
		l.ask.OnText = func(chunk string) error {
			Report(ctx, Progress{Kind: ProgressText, Turn: turn, Text: chunk})
			return nil
		}
	}
	if err := l.fit(ctx); err != nil {
		return providers.Response{}, err
	}
	begun := time.Now()
	answer, err := l.generate(ctx)
	if err != nil {
		return providers.Response{}, err
	}
	answer.Usage.Calls = max(answer.Usage.Calls, 1)
	l.turn, l.scale = turn, scaleOf(l.ask, answer.Usage)
	l.spent = l.spent.Add(answer.Usage)
	l.most.Calls, l.most.Cost = max(l.most.Calls, answer.Usage.Calls), max(l.most.Cost, answer.Usage.Cost)
	if tokens(answer.Usage) > tokens(l.most) {
		l.most.Input, l.most.Output = answer.Usage.Input, answer.Usage.Output
	}
	if len(answer.Before) > 0 {
		f := Fallback{Turn: turn, Model: answer.Model}
		for _, e := range answer.Before {
			f.Before = append(f.Before, e.Error())
		}
		l.fallbacks = append(l.fallbacks, f)
	}
	Report(ctx, Progress{Kind: ProgressTurn, Turn: turn, Text: answer.Text, Model: answer.Model, Usage: answer.Usage, Elapsed: time.Since(begun)})
	return answer, nil
}
