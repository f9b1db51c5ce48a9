package storetest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

func (suite Suite) messengerChecks() []check {
	return []check{
		{"Reply", suite.replies},
		{"Large", suite.repliesLarge},
		{"SideBySide", suite.repliesSideBySide},
		{"NoReply", suite.repliesNone},
		{"Deadline", suite.replyDeadline},
		{"End", suite.serveEnds},
		{"CanceledContext", messengerCanceled},
	}
}

// handler is what Serve calls.
type handler = func(ctx context.Context, data []byte) []byte

// hello is the data of the requests by which serve waits until the engine serves.
const hello = "are you there?"

// serve makes s handle requests to owner, until stop, which returns what Serve returned.
func serve(t testing.TB, s runlog.Store, owner string, handle handler) (stop func() error) {
	t.Helper()
	if o, ok := runlog.As[runlog.Owners](s); ok {
		mustBeat(t, o, owner, time.Hour)
	}
	m := as[runlog.Messenger](t, s)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		ended <- m.Serve(ctx, owner, func(ctx context.Context, data []byte) []byte {
			if string(data) == hello {
				return nil
			}
			return handle(ctx, data)
		})
	})
	stop = func() (err error) {
		cancel()
		ok, err := inTime(func() error { return <-ended })
		if !ok {
			t.Errorf("Serve(%q) does not return when its context is done", owner)
		}
		return err
	}
	for began := time.Now(); ; <-time.After(time.Millisecond) {
		reply, err := request(t, s, owner, hello)
		if err == nil && len(reply) == 0 {
			return stop
		}
		if !errors.Is(err, runlog.ErrNoReply) || time.Since(began) > patience {
			_ = stop()
			t.Fatalf("Request(%q) = %q, %v, want the reply of the engine that serves", owner, reply, err)
		}
	}
}

// request is a request that ends when patience is over.
func request(t testing.TB, s runlog.Store, owner, data string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var reply []byte
	ok, err := inTime(func() (err error) {
		reply, err = as[runlog.Messenger](t, s).Request(ctx, owner, []byte(data))
		return err
	})
	if !ok {
		t.Fatalf("Request(%q) does not return", owner)
	}
	return string(reply), err
}

func wantReply(t testing.TB, s runlog.Store, owner, data, want string) {
	t.Helper()
	if got, err := request(t, s, owner, data); err != nil || got != want {
		t.Errorf("Request(%q, %.50q) = %d bytes %.50q, %v, want %d bytes %.50q", owner, data, len(got), got, err, len(want), want)
	}
}

func wantNoReply(t testing.TB, s runlog.Store, owner string) {
	t.Helper()
	began := time.Now()
	if got, err := request(t, s, owner, "x"); !errors.Is(err, runlog.ErrNoReply) {
		t.Errorf("Request(%q) = %q, %v after %v, want ErrNoReply", owner, got, err, time.Since(began))
	}
}

// replies has requests to two engines of a store, from it and from another process.
func (suite Suite) replies(t testing.TB, s runlog.Store) {
	for _, owner := range []string{"ann", "../b/ü %"} {
		var last []byte // is the handler's, as its reply is
		stop := serve(t, s, owner, func(_ context.Context, data []byte) []byte {
			clear(last)
			last = append(append([]byte(owner), ':'), data...)
			clear(data)
			return last
		})
		defer func() { _ = stop() }()
	}
	for _, from := range []runlog.Store{s, suite.Other(t, s)} {
		m := as[runlog.Messenger](t, from)
		for _, data := range []string{"", "a", "\x00\xff\n", `{"a":"\u0000"}`} {
			for _, owner := range []string{"ann", "../b/ü %"} {
				wantReply(t, from, owner, data, owner+":"+data)
			}
		}
		data := []byte("mine")
		reply, err := m.Request(t.Context(), "ann", data)
		if _, again := m.Request(t.Context(), "ann", data); err != nil || again != nil || string(reply) != "ann:mine" || string(data) != "mine" {
			t.Errorf("Request = %q, %v, %v, and its data is %q then, want ann:mine and mine: both are the caller's", reply, err, again, data)
		}
	}
}

// repliesLarge has data that is larger than what databases notify at once: all of it
// equal, and all of it different.
func (suite Suite) repliesLarge(t testing.TB, s runlog.Store) {
	stop := serve(t, s, "ann", func(_ context.Context, data []byte) []byte { return append(data, 'x') })
	defer func() { _ = stop() }()
	other := suite.Other(t, s)
	equal := bytes.Repeat([]byte{0}, 300_000)
	random := make([]byte, 1_000_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for n := range 16 { // ends of their parts are tried, too
		wantReply(t, other, "ann", string(random[:7000-n]), string(random[:7000-n])+"x")
	}
	for _, data := range [][]byte{equal, random} {
		wantReply(t, other, "ann", string(data), string(data)+"x")
	}
}

// repliesSideBySide has two requests that are handled at the same time.
func (suite Suite) repliesSideBySide(t testing.TB, s runlog.Store) {
	first, second := make(chan struct{}), make(chan struct{})
	stop := serve(t, s, "ann", func(ctx context.Context, data []byte) []byte {
		if string(data) == "2" {
			close(second)
			return data
		}
		close(first)
		select {
		case <-second:
			return data
		case <-ctx.Done():
			return nil
		}
	})
	defer func() { _ = stop() }()
	other := suite.Other(t, s)
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { wantReply(t, other, "ann", "1", "1") })
	if ok, _ := inTime(func() error { <-first; return nil }); !ok {
		t.Fatalf("Serve does not handle a request")
	}
	wantReply(t, other, "ann", "2", "2")
}

// repliesNone has engines that are unknown, do not serve, or serve no more.
func (suite Suite) repliesNone(t testing.TB, s runlog.Store) {
	if o, ok := runlog.As[runlog.Owners](s); ok {
		mustBeat(t, o, "deaf", time.Hour)
	}
	stop := serve(t, s, "ann", func(_ context.Context, data []byte) []byte { return data })
	for _, from := range []runlog.Store{s, suite.Other(t, s)} {
		wantReply(t, from, "ann", "x", "x")
		for _, owner := range []string{"", "an", "ANN", "deaf"} {
			wantNoReply(t, from, owner)
		}
	}
	_ = stop()
	wantNoReply(t, s, "ann")
	wantNoReply(t, suite.Other(t, s), "ann")
}

// replyDeadline has an engine that hangs: the context of its handle must end with the
// request. A request may be over before it has come to the engine: then a longer one is made.
func (suite Suite) replyDeadline(t testing.TB, s runlog.Store) {
	late := make(chan error, 8) // one for each request
	var began atomic.Bool
	release := make(chan struct{})
	stop := serve(t, s, "ann", func(ctx context.Context, _ []byte) []byte {
		began.Store(true)
		select {
		case <-ctx.Done():
			late <- ctx.Err()
		case <-release:
			late <- errors.New("it was not done")
		}
		<-release
		return nil
	})
	defer func() { _ = stop() }()
	defer close(release)
	m := as[runlog.Messenger](t, suite.Other(t, s))
	for wait := suite.Silence; !began.Load() && wait <= 10*suite.Silence; wait *= 3 {
		ok, err := inTime(func() error {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			_, err := m.Request(ctx, "ann", nil)
			return err
		})
		if !ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Request to an engine that hangs = %v (it returned: %v), want context.DeadlineExceeded", err, ok)
		}
	}
	if ok, err := inTime(func() error { return <-late }); !ok || err == nil {
		t.Errorf("the context of handle is not done at the deadline of the request (%v, %v)", ok, err)
	}
}

// serveEnds ends Serve while it handles a request.
func (suite Suite) serveEnds(t testing.TB, s runlog.Store) {
	handling, returned := make(chan struct{}), make(chan struct{})
	stop := serve(t, s, "ann", func(ctx context.Context, _ []byte) []byte {
		close(handling)
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			t.Errorf("the context of handle is not done when that of Serve is")
		}
		<-time.After(suite.Silence)
		close(returned)
		return []byte("too late")
	})
	var asks sync.WaitGroup
	defer asks.Wait()
	asks.Go(func() { wantNoReply(t, s, "ann") })
	if ok, _ := inTime(func() error { <-handling; return nil }); !ok {
		t.Fatalf("Serve does not handle a request")
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Serve = %v when its context is canceled, want context.Canceled", err)
	}
	select {
	case <-returned:
	default:
		t.Errorf("Serve returned before handle did")
		<-returned
	}
}

func messengerCanceled(t testing.TB, s runlog.Store) {
	stop := serve(t, s, "ann", func(context.Context, []byte) []byte { return nil })
	defer func() { _ = stop() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := as[runlog.Messenger](t, s)
	for name, call := range map[string]func() error{
		"Request": func() error { _, err := m.Request(ctx, "ann", nil); return err },
		"Serve":   func() error { return m.Serve(ctx, "bob", nil) },
	} {
		if ok, err := inTime(call); !ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a canceled context = %v (it returned: %v), want context.Canceled", name, err, ok)
		}
	}
}
