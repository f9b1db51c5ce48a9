package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-go/convene/providers"
)

// errSlice is what a model is told of a tool that the end of the slice has stopped.
var errSlice = errors.New("stopped, for the time of this part of the work is over; " +
	"call it again if its result is still needed, in smaller steps if you can")

// slice returns the context for the tools of a turn, which ends with the slice, and
// what is closed when those that ignore that are left behind. end frees both.
func (l *loop) slice(ctx context.Context) (work context.Context, left <-chan struct{}, end func()) {
	long := l.limits.Slice
	if long <= 0 {
		return ctx, nil, func() {}
	}
	over, first := l.begun.Add(long), len(l.ask.Messages) == l.old+1
	if now := time.Now(); first || !now.Before(over) {
		over = now.Add(long)
	}
	const tick = 1 // a tool that ends at that very time has ended in time
	over = over.Add(tick)
	work, endWork := context.WithDeadlineCause(ctx, over, errSlice)
	late, endLate := context.WithDeadline(context.WithoutCancel(ctx), over.Add(cmp.Or(l.limits.Grace, time.Second)+tick))
	return work, late.Done(), func() {
		endWork()
		endLate()
	}
}

// toolUse is one call of a tool. Its result is there once: what a tool returns after
// it was left behind is dropped.
type toolUse struct {
	call  providers.ToolCall
	turn  int
	begun time.Time
	once  sync.Once
	came  chan providers.Message // has room for the result
}

// wait returns the result, or an error in its place when left is closed.
func (u *toolUse) wait(ctx context.Context, left <-chan struct{}) providers.Message {
	select {
	case m := <-u.came:
		return m
	case <-left:
		u.settle(ctx, "", fmt.Errorf("%w; it has not stopped and may still be running", errSlice), nil)
		return <-u.came
	}
}

// settle puts the result there and reports it to watchers, if there is none yet.
func (u *toolUse) settle(ctx context.Context, said string, err error, parts []providers.Part) {
	m := result(u.call, said, err)
	m.Parts = parts
	p := Progress{Kind: ProgressTool, Turn: u.turn, Tool: &u.call, Text: bounded(said), Usage: providers.Usage{ToolCalls: 1}, Elapsed: time.Since(u.begun)}
	if err != nil {
		p.Text, p.Err = "", bounded(err.Error())
	}
	u.once.Do(func() {
		Report(ctx, p)
		u.came <- m
	})
}
