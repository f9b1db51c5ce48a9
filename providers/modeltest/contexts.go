package modeltest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/convene-go/convene/providers"
)

var contextChecks = []check{
	{"CanceledBefore", contextCanceledBefore},
	{"DeadlineBefore", contextDeadlineBefore},
	{"CanceledWaiting", contextCanceledWaiting},
	{"DeadlineWaiting", contextDeadlineWaiting},
	{"CanceledInStream", contextCanceledInStream},
}

// soon is when a waiting call is canceled.
const soon = 50 * time.Millisecond

// wantGivenUp requires the error of a call whose context is done for the reason.
func wantGivenUp(ctx context.Context, t testing.TB, s Subject, req providers.Request, reason error) {
	t.Helper()
	r := ask(ctx, t, s, req)
	_ = wantFailure(t, s, r, providers.Canceled)
	if !errors.Is(r.err, reason) {
		t.Errorf("Generate = %v, want an error that wraps the context's: %v", r.err, reason)
	}
}

func contextCanceledBefore(t testing.TB, open Open) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantGivenUp(ctx, t, open(t, play(Answer)), question(), context.Canceled)
}

func contextDeadlineBefore(t testing.TB, open Open) {
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	wantGivenUp(ctx, t, open(t, play(Answer)), question(), context.DeadlineExceeded)
}

func contextCanceledWaiting(t testing.TB, open Open) {
	s := open(t, play(Slow))
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(soon, cancel).Stop()
	wantGivenUp(ctx, t, s, question(), context.Canceled)
	cancel()
}

func contextDeadlineWaiting(t testing.TB, open Open) {
	s := open(t, play(Slow))
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	wantGivenUp(ctx, t, s, question(), context.DeadlineExceeded)
}

func contextCanceledInStream(t testing.TB, open Open) {
	s := open(t, play(Stall))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := question()
	req.OnText = func(string) error {
		cancel()
		return nil
	}
	wantGivenUp(ctx, t, s, req, context.Canceled)
}
