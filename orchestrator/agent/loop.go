package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
)

// loop is one call of an LLM on its way.
type loop struct {
	llm     LLM
	req     Request
	begun   time.Time
	prompt  string               // not said yet; "": none
	pending []providers.ToolCall // of History, without a result yet
	talk    []providers.Message  // all that the model is shown
	old     int                  // how many of talk are not new
	turn    int                  // the last one since the prompt, in earlier slices too
	calls   int                  // of tools in this slice
	spent   providers.Usage
}

// run takes turns until there is an answer or the slice ends.
func (l *loop) run(ctx context.Context) (Response, error) {
	if err := l.callTools(ctx, l.pending); err != nil {
		return Response{}, err
	}
	if l.prompt != "" {
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
		calls := settle(answer.ToolCalls, l.talk)
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

// failed ends the slice before a turn that failed, where that loses nothing.
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

// mayAsk says why there must not be another turn, or nil.
func (l *loop) mayAsk() error {
	limit := l.req.Limits.Cost
	switch {
	case l.turn >= l.llm.MaxTurns:
		return l.tooMany()
	case limit > 0 && l.spent.Cost >= limit:
		return fmt.Errorf("%w: turn %d is not begun: those before it have cost %d of %d nano-USD", budget, l.turn+1, l.spent.Cost, limit)
	case limit > 0 && l.spent.Unpriced > 0 && !l.req.Limits.AllowUnpriced:
		return fmt.Errorf("%w: turn %d is not begun: %d before it have no known price, which a limit on cost does not allow", budget, l.turn+1, l.spent.Unpriced)
	}
	return nil
}

func (l *loop) tooMany() error {
	return fmt.Errorf("%w: the model still asks for tools in turn %d of %d", ErrTurns, l.turn, l.llm.MaxTurns)
}

// ask takes one turn.
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

// answer is the end of the work.
func (l *loop) answer(text string) Response {
	resp := Response{Text: text, Messages: l.fresh()}
	if text := strings.TrimSpace(text); l.req.Output != nil && json.Valid([]byte(text)) {
		resp.Data = json.RawMessage(text)
	}
	return resp
}

// more is the end of a slice. Its text is what the model last said beside its tool
// calls.
func (l *loop) more() Response {
	resp := Response{Messages: l.fresh(), More: true}
	for _, m := range slices.Backward(resp.Messages) {
		if m.Role == providers.Assistant {
			resp.Text = m.Text
			break
		}
	}
	return resp
}

func (l *loop) fresh() []providers.Message { return slices.Clone(l.talk[l.old:]) }

// open tells whether a conversation ends in tool calls, or in their results.
func open(history []providers.Message) bool {
	if len(history) == 0 {
		return false
	}
	last := history[len(history)-1]
	return last.Role == providers.ToolRole || last.Role == providers.Assistant && len(last.ToolCalls) > 0
}

// pending are the tool calls at the end of a conversation that have no result.
func pending(history []providers.Message) []providers.ToolCall {
	answered := map[string]bool{}
	for _, m := range slices.Backward(history) {
		switch m.Role {
		case providers.ToolRole:
			answered[m.ToolID] = true
			continue
		case providers.Assistant:
			var calls []providers.ToolCall
			for _, c := range m.ToolCalls {
				if !answered[c.ID] {
					calls = append(calls, c)
				}
			}
			return calls
		case providers.User, providers.System:
		}
		return nil
	}
	return nil
}

// turns counts those of the model since the user last said something.
func turns(history []providers.Message) int {
	n := 0
	for _, m := range slices.Backward(history) {
		if m.Role == providers.User {
			break
		}
		if m.Role == providers.Assistant {
			n++
		}
	}
	return n
}
