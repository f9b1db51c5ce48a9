package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/convene-go/convene/providers"
)

// Bounds of what an answer may need of a window.
const (
	answerRoom  = 8_000 // tokens of an answer without Limits.MaxTokens
	answerShare = 4     // an answer has at most this part of the window to itself
)

// fit makes the conversation shorter if the next turn would outgrow the window.
func (l *loop) fit(ctx context.Context) error {
	window := cmp.Or(l.llm.Window, providers.Window(l.llm.Model))
	if l.llm.Compact == nil || window == 0 {
		return nil
	}
	answer := min(cmp.Or(l.ask.MaxTokens, answerRoom), window/answerShare)
	room := int64(float64(window-answer) / cmp.Or(l.scale, 1))
	if providers.Tokens(l.ask) <= room {
		return nil
	}
	_, err := l.compact(ctx, room)
	return err
}

// generate asks the model. A request that it refuses as too long is made shorter once.
func (l *loop) generate(ctx context.Context) (providers.Response, error) {
	answer, err := l.llm.Model.Generate(l.keyed(ctx, ""), l.ask)
	if l.llm.Compact == nil || !tooLong(err) {
		return answer, err
	}
	shorter, failed := l.compact(ctx, providers.Tokens(l.ask)/2)
	switch {
	case failed != nil:
		return answer, fmt.Errorf("%w; the conversation does not become shorter: %w", err, failed)
	case !shorter:
		return answer, err
	}
	l.spent = l.spent.Add(ErrorOf(err).Usage)
	if err := l.mayAsk(); err != nil {
		return answer, err
	}
	return l.llm.Model.Generate(l.keyed(ctx, "/short"), l.ask)
}

// compact has the Compactor make the conversation shorter, for a request of at most room,
// and reports whether it has.
func (l *loop) compact(ctx context.Context, room int64) (shorter bool, err error) {
	head := 0
	if l.llm.Instructions != "" {
		head = 1
	}
	old := slices.Clone(l.ask.Messages[head:])
	rest := l.ask
	rest.Messages = rest.Messages[:head]
	before := l.spent
	talk := &Talk{Messages: slices.Clone(old), Most: max(room-providers.Tokens(rest), 1), ask: l.askFor}
	now, err := l.llm.Compact.Compact(ctx, talk)
	if err != nil {
		if e := *ErrorOf(err); e.Usage != (providers.Usage{}) {
			e.Usage, err = providers.Usage{}, &e // it is in l.spent
		}
		return false, fmt.Errorf("compact a conversation of %d messages: %w", len(old), err)
	}
	if slices.EqualFunc(old, now, func(a, b providers.Message) bool { return sameMessage(&a, &b) }) {
		return false, nil
	}
	if err := checkCompacted(old, now); err != nil {
		return false, err
	}
	c := Compaction{
		Turn: l.turn + 1, At: len(l.news), Pieces: piecesOf(old, now), Turns: max(0, turnsOf(old)-turnsOf(now)),
		Before: talk.Size(old), After: talk.Size(now), Usage: lessUsage(l.spent, before),
	}
	l.ask.Messages = append(slices.Clone(l.ask.Messages[:head]), c.apply(old)...)
	l.spent.Compacted++
	l.compactions = append(l.compactions, c)
	Report(ctx, Progress{
		Kind: ProgressCompact, Turn: c.Turn, Usage: c.Usage,
		Text: fmt.Sprintf("%d messages with about %d tokens became %d with %d", len(old), c.Before, len(now), c.After),
	})
	return true, nil
}

// askFor asks a model for a Compactor, if that and the next turn fit into the limits.
func (l *loop) askFor(ctx context.Context, m providers.Model, req providers.Request) (providers.Response, error) {
	if err := l.affords(m, req); err != nil {
		return providers.Response{}, err
	}
	n := len(l.compactions) + 1
	answer, err := m.Generate(l.keyed(ctx, "/compact"+strconv.Itoa(n)), req)
	if err != nil {
		l.spent = l.spent.Add(ErrorOf(err).Usage)
		return answer, err
	}
	answer.Usage.Calls = max(answer.Usage.Calls, 1)
	l.spent = l.spent.Add(answer.Usage)
	return answer, nil
}

// affords returns why a request beside the turns must not be made, or nil.
func (l *loop) affords(m providers.Model, req providers.Request) error {
	cost, priced := providers.Estimate(m, req)
	most := providers.Tokens(req) + int64(cmp.Or(req.MaxTokens, answerRoom))
	var short string
	switch limits := l.limits; {
	case limits.Cost > 0 && !priced && !limits.AllowUnpriced:
		short = "its price is not known"
	case beyond(int64(limits.Cost), int64(l.spent.Cost+l.most.Cost), int64(cost)):
		short = fmt.Sprintf("it may cost %s USD, and %s of %s are used or wanted for the next turn", cost.USD(), (l.spent.Cost + l.most.Cost).USD(), limits.Cost.USD())
	case beyond(limits.Calls, l.spent.Calls+max(l.most.Calls, 1), 1):
		short = fmt.Sprintf("%d of %d calls of models are used or wanted for the next turn", l.spent.Calls+max(l.most.Calls, 1), limits.Calls)
	case beyond(limits.Tokens, tokens(l.spent)+tokens(l.most), most):
		short = fmt.Sprintf("it may use %d tokens, and %d of %d are used or wanted for the next turn", most, tokens(l.spent)+tokens(l.most), limits.Tokens)
	default:
		return nil
	}
	return fmt.Errorf("%w: a call to make the conversation shorter is not made: %s", budget, short)
}

// keyed returns ctx for a request of the next turn: its identity is the call's key, the
// attempt, the turn, and what tells it from others of the turn.
func (l *loop) keyed(ctx context.Context, which string) context.Context {
	i := InfoFrom(ctx)
	if i.Key == "" {
		return ctx
	}
	key := i.Key + "/" + strconv.Itoa(i.Attempt) + "." + strconv.Itoa(l.turn+1) + which
	return providers.WithOrigin(ctx, providers.Origin{Key: key, Agent: i.Agent, Op: i.Op, Task: i.Task, Attempt: i.Attempt})
}

// scaleOf returns how many tokens a model counted in req, by those of [providers.Tokens].
// 0: it did not say.
func scaleOf(req providers.Request, used providers.Usage) float64 {
	const least, most = 0.2, 2 // bounds of any text: a figure beyond them is not that of this request
	most64 := providers.Tokens(req)
	if used.Input <= 0 || most64 <= 0 {
		return 0
	}
	return min(max(float64(used.Input)/float64(most64), least), most)
}

// lessUsage returns what was used beyond before, of which u is the sum.
func lessUsage(u, before providers.Usage) providers.Usage {
	u.Calls -= before.Calls
	u.ToolCalls -= before.ToolCalls
	u.Input -= before.Input
	u.Output -= before.Output
	u.Reasoning -= before.Reasoning
	u.CacheRead -= before.CacheRead
	u.CacheWrite -= before.CacheWrite
	u.Cost -= before.Cost
	u.Unpriced -= before.Unpriced
	u.Fallbacks -= before.Fallbacks
	u.Compacted -= before.Compacted
	return u
}
