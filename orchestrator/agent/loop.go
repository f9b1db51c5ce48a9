package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/convene-go/convene/providers"
)

// loop is one call of an LLM.
type loop struct {
	llm     LLM
	req     Request
	begun   time.Time
	prompt  string               // the user's message; "": none
	pending []providers.ToolCall // of History, without a result yet
	talk    []providers.Message  // all that the model is shown
	old     int                  // how many of talk are the instructions and the History
	said    int                  // where in talk the prompt is
	turn    int                  // the last one since the prompt, in earlier slices too
	calls   int                  // of tools in this slice
	spent   providers.Usage
}

// run asks the model in turns until there is an answer or the slice ends.
func (l *loop) run(ctx context.Context) (Response, error) {
	if err := l.callTools(ctx, l.pending); err != nil {
		return Response{}, err
	}
	if l.prompt != "" {
		l.said = len(l.talk)
		l.talk = append(l.talk, providers.Message{Role: providers.User, Text: l.prompt})
	} else if l.sliceOver() {
		return l.more(), nil
	}
	for {
		if err := l.mayAsk(); err != nil {
			return Response{}, err
		}
		answer, err := l.ask(ctx)
		if err != nil {
			return l.failed(ctx, err)
		}
		calls := recordable(answer.ToolCalls, l.talk)
		l.talk = append(l.talk, providers.Message{Role: providers.Assistant, Text: answer.Text, ToolCalls: calls})
		switch {
		case answer.Stop == providers.StopFilter:
			return Response{}, fmt.Errorf("%w: %s", ErrRefused, answer.Text)
		case len(calls) == 0:
			return l.answer(answer.Text), nil
		case answer.Stop == providers.StopLength:
			return Response{}, fmt.Errorf("%w: turn %d asks for %d tool calls, and its end is missing: none was made", ErrCut, l.turn, len(calls))
		case l.turn >= l.llm.MaxTurns:
			return Response{}, l.tooMany()
		}
		if err := l.callTools(ctx, calls); err != nil {
			return Response{}, err
		}
		if l.sliceOver() {
			return l.more(), nil
		}
	}
}

// failed ends the slice before a turn that failed transiently, if the slice has
// results to return. Else it returns err.
func (l *loop) failed(ctx context.Context, err error) (Response, error) {
	last := len(l.talk) - 1
	results := last >= l.old && l.talk[last].Role == providers.ToolRole
	e := ErrorOf(err)
	if ctx.Err() != nil || !l.sliced() || !results || !e.Transient {
		return Response{}, err
	}
	l.spent = l.spent.Add(e.Usage)
	return l.more(), nil
}

func (l *loop) sliced() bool { return l.req.Limits.ToolCalls > 0 || l.req.Limits.Slice > 0 }

func (l *loop) sliceOver() bool {
	most, long := l.req.Limits.ToolCalls, l.req.Limits.Slice
	return most > 0 && l.calls >= most || long > 0 && time.Since(l.begun) >= long
}

// mayAsk returns nil, or why there must not be another turn.
func (l *loop) mayAsk() error {
	limit := l.req.Limits.Cost
	switch {
	case l.turn >= l.llm.MaxTurns:
		return l.tooMany()
	case limit > 0 && l.spent.Cost >= limit:
		return fmt.Errorf("%w: turn %d does not start: those before it have cost %d of %d nano-USD", budget, l.turn+1, l.spent.Cost, limit)
	case limit > 0 && l.spent.Unpriced > 0 && !l.req.Limits.AllowUnpriced:
		return fmt.Errorf("%w: turn %d does not start: %d before it have no known price, which a limit on cost does not allow", budget, l.turn+1, l.spent.Unpriced)
	}
	return nil
}

func (l *loop) tooMany() error {
	return fmt.Errorf("%w: the model still asks for tools in turn %d of %d", ErrTurns, l.turn, l.llm.MaxTurns)
}

// ask makes one turn of the model.
func (l *loop) ask(ctx context.Context) (providers.Response, error) {
	turn := l.turn + 1
	req := providers.Request{
		Messages: l.talk, Output: l.req.Output, MaxTokens: l.req.Limits.MaxTokens, Temperature: l.req.Temperature,
	}
	for _, t := range l.llm.Tools {
		req.Tools = append(req.Tools, t.Tool)
	}
	if Watched(ctx) {
		req.OnText = func(chunk string) error {
			Report(ctx, Progress{Kind: ProgressText, Turn: turn, Text: chunk})
			return nil
		}
	}
	begun := time.Now()
	answer, err := l.llm.Model.Generate(withModelKey(ctx, turn), req)
	if err != nil {
		return answer, err
	}
	answer.Usage.Calls = max(answer.Usage.Calls, 1)
	l.turn = turn
	l.spent = l.spent.Add(answer.Usage)
	Report(ctx, Progress{Kind: ProgressTurn, Turn: turn, Text: answer.Text, Usage: answer.Usage, Elapsed: time.Since(begun)})
	return answer, nil
}

// withModelKey gives a turn its identity: the call's key, the attempt and the turn.
func withModelKey(ctx context.Context, turn int) context.Context {
	i := InfoFrom(ctx)
	if i.Key == "" {
		return ctx
	}
	return providers.WithKey(ctx, i.Key+"/"+strconv.Itoa(i.Attempt)+"."+strconv.Itoa(turn))
}

// answer ends the work. The last message is the answer: its text is Text alone.
func (l *loop) answer(text string) Response {
	return Response{Text: text, Messages: l.fresh(len(l.talk) - 1)}
}

// more ends a slice.
func (l *loop) more() Response { return Response{Messages: l.fresh(len(l.talk)), More: true} }

// fresh returns the new messages before end, without the prompt.
func (l *loop) fresh(end int) []providers.Message {
	if l.prompt == "" {
		return slices.Concat(l.talk[l.old:end])
	}
	return slices.Concat(l.talk[l.old:l.said], l.talk[l.said+1:end])
}
