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
	llm   LLM
	req   Request
	begun time.Time
	talk  []providers.Message // all that the model is shown
	old   int                 // how many of talk are the instructions, the History and the prompt
	turn  int                 // the last one since the prompt, in earlier slices too
	spent providers.Usage
}

// run asks the model in turns until there is an answer or the slice ends.
func (l *loop) run(ctx context.Context) (Response, error) {
	for {
		answer, err := l.ask(ctx)
		if err != nil {
			return l.failed(ctx, err)
		}
		calls := recordable(answer.ToolCalls, l.talk)
		switch {
		case answer.Stop == providers.StopFilter:
			return Response{}, fmt.Errorf("%w: %s", ErrRefused, answer.Text)
		case len(calls) == 0:
			return Response{Text: answer.Text, Messages: l.said()}, nil
		case answer.Stop == providers.StopLength:
			return Response{}, fmt.Errorf("%w: turn %d asks for %d tool calls, and its end is missing: none was made", ErrCut, l.turn, len(calls))
		case l.turn >= l.llm.MaxTurns:
			return Response{}, l.tooMany()
		}
		l.talk = append(l.talk, providers.Message{Role: providers.Assistant, Text: answer.Text, ToolCalls: calls})
		if err := l.callTools(ctx, calls); err != nil {
			return Response{}, err
		}
		most, long := l.req.Limits.ToolCalls, l.req.Limits.Slice
		if most > 0 && l.spent.ToolCalls >= int64(most) || long > 0 && time.Since(l.begun) >= long {
			return Response{Messages: l.said(), More: true}, nil
		}
	}
}

// said returns what is new in the conversation.
func (l *loop) said() []providers.Message { return slices.Concat(l.talk[l.old:]) }

// failed returns err, or ends a slice that has results before a turn that failed
// transiently.
func (l *loop) failed(ctx context.Context, err error) (Response, error) {
	sliced := l.req.Limits.ToolCalls > 0 || l.req.Limits.Slice > 0
	e := ErrorOf(err)
	if ctx.Err() != nil || !sliced || len(l.talk) == l.old || !e.Transient {
		return Response{}, err
	}
	l.spent = l.spent.Add(e.Usage)
	return Response{Messages: l.said(), More: true}, nil
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

// ask makes one turn of the model, if there may be another.
func (l *loop) ask(ctx context.Context) (providers.Response, error) {
	if err := l.mayAsk(); err != nil {
		return providers.Response{}, err
	}
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
	begun, keyed := time.Now(), ctx
	if i := InfoFrom(ctx); i.Key != "" { // the identity of a turn: the call's key, the attempt and the turn
		keyed = providers.WithKey(ctx, i.Key+"/"+strconv.Itoa(i.Attempt)+"."+strconv.Itoa(turn))
	}
	answer, err := l.llm.Model.Generate(keyed, req)
	if err != nil {
		return answer, err
	}
	answer.Usage.Calls = max(answer.Usage.Calls, 1)
	l.turn = turn
	l.spent = l.spent.Add(answer.Usage)
	Report(ctx, Progress{Kind: ProgressTurn, Turn: turn, Text: answer.Text, Usage: answer.Usage, Elapsed: time.Since(begun)})
	return answer, nil
}
