package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/providers"
)

// ErrCompact is the code of a [Compactor] whose answer breaks its contract.
const ErrCompact = Code("compact")

// A Compactor makes conversations shorter that outgrow a model's window. [Compact] is the
// default. An [LLM] asks it once before a turn that does not fit, and once after a model
// has refused a request as too long. It is safe for concurrent use.
//
// It returns the new conversation, which the LLM checks: the last message of the user's
// is in it, as it was; calls of tools and their results stay together; what a model can
// go on from stands at its end, as the last results of tools. Anything else fails the call
// with [ErrCompact]. The Instructions of the LLM are not in the conversation: they stay.
// Of a conversation that is still too large the model is asked all the same.
//
// Its error fails the call. It asks models by [Talk.Ask] only, so that they are counted
// and keep to the limits of the call. What it returns is recorded with the answer of the
// call: it is not asked again on replay.
type Compactor interface {
	Compact(ctx context.Context, talk *Talk) ([]providers.Message, error)
}

// CompactFunc makes a [Compactor] of a function.
type CompactFunc func(ctx context.Context, talk *Talk) ([]providers.Message, error)

// Compact calls f.
func (f CompactFunc) Compact(ctx context.Context, talk *Talk) ([]providers.Message, error) {
	return f(ctx, talk)
}

// Talk is a conversation that is to become shorter.
type Talk struct {
	Messages []providers.Message // conversation without the Instructions; a Compactor does not change it
	Most     int64               // size that the conversation may have, as [Talk.Size] counts

	ask func(ctx context.Context, m providers.Model, req providers.Request) (providers.Response, error)
}

// Size returns how large messages are, in the tokens of [providers.Tokens].
func (*Talk) Size(messages []providers.Message) int64 {
	return providers.Tokens(providers.Request{Messages: messages})
}

// Ask asks a model in the name of the call. It is an error with the code "budget", and the
// model is not asked, if that and the next turn do not both fit into what is left of the
// Limits of the call. A Talk that no LLM has made has no limits.
func (t *Talk) Ask(ctx context.Context, m providers.Model, req providers.Request) (providers.Response, error) {
	if t.ask == nil {
		return m.Generate(ctx, req)
	}
	return t.ask(ctx, m, req)
}

// checkCompacted returns why now cannot stand for old, or nil.
func checkCompacted(old, now []providers.Message) error {
	if last := lastUser(old); last >= 0 && !slices.ContainsFunc(now, func(m providers.Message) bool { return sameMessage(&m, &old[last]) }) {
		return fmt.Errorf("%w: the last message of the user's is missing", ErrCompact)
	}
	before := loose(old)
	for id := range loose(now) {
		if !before[id] {
			return fmt.Errorf("%w: the tool call %q and its result are not together", ErrCompact, id)
		}
	}
	if resumable(old) == nil {
		if err := resumable(now); err != nil {
			return fmt.Errorf("%w: a model cannot go on from its end: %w", ErrCompact, err)
		}
	} else if last := len(old) - 1; len(now) == 0 || !sameMessage(&now[len(now)-1], &old[last]) {
		return fmt.Errorf("%w: the last message is missing", ErrCompact)
	}
	return nil
}

// lastUser returns the index of the last message of the user's, or -1.
func lastUser(talk []providers.Message) int {
	for i, t := range slices.Backward(talk) {
		if t.Role == providers.User {
			return i
		}
	}
	return -1
}

// loose returns the IDs of calls without a result right behind them, and of results
// without a call.
func loose(talk []providers.Message) map[string]bool {
	open, found := map[string]bool{}, map[string]bool{}
	for _, m := range talk {
		if m.Role == providers.ToolRole {
			if !open[m.ToolID] {
				found[m.ToolID] = true
			}
			delete(open, m.ToolID)
			continue
		}
		for id := range open {
			found[id] = true
		}
		clear(open)
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	for id := range open {
		found[id] = true
	}
	return found
}

// tooLong reports whether err says that a request does not fit its model.
func tooLong(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.TooLong
}
