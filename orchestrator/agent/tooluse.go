package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	over, first := l.begun.Add(long), len(l.news) == 1
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

	mu    sync.Mutex
	parts []providers.Part // images and documents that it shows; a tool that is left behind may add to it late
}

type useKey struct{}

// maxShown is how many images and documents of one tool call a model is shown.
const maxShown = 8

// Show has the model see images and documents with the result of the tool that was
// called with ctx, behind its text. It returns an error, and shows none of them, if
// ctx is not a tool's, if one of them is not valid, or if the tool has shown 8. They
// are recorded as all messages are. Of a tool that is left behind the model sees what
// was shown until then.
func Show(ctx context.Context, parts ...providers.Part) error {
	u, ok := ctx.Value(useKey{}).(*toolUse)
	if !ok {
		return errors.New("agent: show: the context is not that of a tool's call")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.parts)+len(parts) > maxShown {
		return errors.New("agent: show: a tool call shows at most 8 parts")
	}
	if err := providers.CheckParts([]providers.Message{{Role: providers.ToolRole, Parts: parts}}); err != nil {
		return err
	}
	u.parts = append(u.parts, providers.CloneParts(parts)...)
	return nil
}

// wait returns the result, or an error in its place when left is closed.
func (u *toolUse) wait(ctx context.Context, left <-chan struct{}) providers.Message {
	select {
	case m := <-u.came:
		return m
	case <-left:
		u.settle(ctx, "", fmt.Errorf("%w; it has not stopped and may still be running", errSlice))
		return <-u.came
	}
}

// settle puts the result there and reports it to watchers, if there is none yet.
func (u *toolUse) settle(ctx context.Context, said string, err error) {
	m := result(u.call, said, err)
	u.mu.Lock()
	m.Parts = slices.Clone(u.parts)
	u.mu.Unlock()
	p := Progress{Kind: ProgressTool, Turn: u.turn, Tool: &u.call, Text: bounded(said), Usage: providers.Usage{ToolCalls: 1}, Elapsed: time.Since(u.begun)}
	if err != nil {
		p.Text, p.Err = "", bounded(err.Error())
	}
	u.once.Do(func() {
		Report(ctx, p)
		u.came <- m
	})
}
