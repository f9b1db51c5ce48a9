package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxPerMinute limits Limit.PerMinute: each call of a minute is stored.
const maxPerMinute = 1_000_000

// Limit is the limit of one provider, for all models and roles together that one [Roles]
// has there. Calls that exceed it wait, first come, first served, while their context
// lasts; a Spec's Timeout begins after the wait. The zero Limit is no limit.
type Limit struct {
	Parallel  int `json:"parallel,omitempty"`  // calls at once; 0: no limit
	PerMinute int `json:"perMinute,omitempty"` // calls that begin within any minute; 0: no limit, at most a million
}

// check returns every fault of l joined into one error, or nil.
func (l Limit) check() error {
	var errs []error
	if l.Parallel < 0 {
		errs = append(errs, fmt.Errorf("parallel is %d, want 0 or more", l.Parallel))
	}
	if l.PerMinute < 0 || l.PerMinute > maxPerMinute {
		errs = append(errs, fmt.Errorf("perMinute is %d, want 0 to %d", l.PerMinute, maxPerMinute))
	}
	return errors.Join(errs...)
}

// gate enforces a Limit.
type gate struct {
	places *semaphore.Weighted // nil: no limit
	pace   *pace               // nil: no limit
}

func newGate(l Limit) *gate {
	g := &gate{}
	if l.Parallel > 0 {
		g.places = semaphore.NewWeighted(int64(l.Parallel))
	}
	if l.PerMinute > 0 {
		g.pace = &pace{turn: semaphore.NewWeighted(1), begun: make([]time.Time, l.PerMinute)}
	}
	return g
}

// enter waits until a call may begin. If it returns nil, the caller must call leave.
func (g *gate) enter(ctx context.Context) error {
	if g.places != nil {
		if err := g.places.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	if g.pace == nil {
		return nil
	}
	if err := g.pace.wait(ctx); err != nil {
		g.leave()
		return err
	}
	return nil
}

func (g *gate) leave() {
	if g.places != nil {
		g.places.Release(1)
	}
}

// pace is a bucket of tokens, each of which returns a minute after it was taken. So no
// minute has more calls than there are tokens, however the vendor counts minutes; a
// bucket that fills up steadily would allow twice as many after a pause.
type pace struct {
	turn  *semaphore.Weighted // place for one caller: the one that waits for the next token
	begun []time.Time         // when each token was taken; those from next on are the oldest
	next  int
}

// wait takes a token, when there is one. A canceled caller takes none.
func (p *pace) wait(ctx context.Context) error {
	if err := p.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer p.turn.Release(1)
	if err := sleep(ctx, time.Until(p.begun[p.next].Add(time.Minute))); err != nil {
		return err
	}
	p.begun[p.next] = time.Now()
	p.next = (p.next + 1) % len(p.begun)
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
