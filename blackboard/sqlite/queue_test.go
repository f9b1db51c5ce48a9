package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard"
)

var errFake = errors.New("fake")

// slowCommit commits when it is let, and keeps what it got.
type slowCommit struct {
	let     chan struct{}
	batches [][]string
}

func (s *slowCommit) commit(calls []*call) {
	<-s.let
	var runs []string
	for _, c := range calls {
		runs = append(runs, c.recs[0].Run)
		if c.recs[0].Run == "bad" {
			c.err = errFake
		}
	}
	s.batches = append(s.batches, runs)
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowCommit{let: make(chan struct{})}
		var q queue
		var calls sync.WaitGroup
		var mu sync.Mutex
		errs := make(map[string]error)
		add := func(ctx context.Context, run string) {
			calls.Go(func() {
				err := q.add(ctx, []blackboard.Record{{Run: run}}, s.commit)
				mu.Lock()
				defer mu.Unlock()
				errs[run] = err
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		add(t.Context(), "first")
		add(t.Context(), "second")
		add(ctx, "withdrawn")
		add(t.Context(), "bad")
		cancel()
		synctest.Wait()
		assert.ErrorIs(t, errs["withdrawn"], context.Canceled)

		s.let <- struct{}{} // first
		synctest.Wait()
		assert.Contains(t, errs, "first", "the leader does not wait for the next batch")
		add(t.Context(), "third")
		s.let <- struct{}{} // second and bad, led by second
		s.let <- struct{}{} // third
		calls.Wait()
		assert.Equal(t, [][]string{{"first"}, {"second", "bad"}, {"third"}}, s.batches)
		assert.Equal(t, map[string]error{
			"first": nil, "second": nil, "third": nil, "bad": errFake, "withdrawn": context.Canceled,
		}, errs)
	})
}

// TestQueueTooLate cancels a call whose records are being written: it gets the
// result, not the context's error.
func TestQueueTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowCommit{let: make(chan struct{})}
		var q queue
		var calls sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		var tooLate error
		calls.Go(func() { assert.NoError(t, q.add(t.Context(), []blackboard.Record{{Run: "1"}}, s.commit)) })
		synctest.Wait()
		calls.Go(func() { assert.NoError(t, q.add(t.Context(), []blackboard.Record{{Run: "2"}}, s.commit)) })
		synctest.Wait()
		calls.Go(func() { tooLate = q.add(ctx, []blackboard.Record{{Run: "3"}}, s.commit) })
		synctest.Wait()
		s.let <- struct{}{}
		synctest.Wait() // 2 leads and writes 3
		cancel()
		s.let <- struct{}{}
		calls.Wait()
		assert.NoError(t, tooLate)
		assert.Equal(t, [][]string{{"1"}, {"2", "3"}}, s.batches)
	})
}

func TestQueueTakesBatches(t *testing.T) {
	q := queue{waiting: []*call{
		{recs: make([]blackboard.Record, 2*maxBatch)},
		{recs: make([]blackboard.Record, 1)},
		{recs: make([]blackboard.Record, maxBatch-1)},
		{recs: make([]blackboard.Record, 1)},
	}}
	for _, want := range []int{1, 2, 1, 0} {
		assert.Len(t, q.take(), want)
	}
}
