package crew_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/crew"
)

var _ agent.Watcher = &crew.Feed{}

// report reports the numbers from, from+1, ... below to.
func report(f *crew.Feed, from, to int) {
	for i := from; i < to; i++ {
		f.Report(agent.Progress{Text: strconv.Itoa(i)})
	}
}

// texts are the numbers of reports, with what was lost before each, as in "7" or "9(2)".
func texts(ps []agent.Progress) (all []string) {
	for _, p := range ps {
		text := p.Text
		if p.Lost > 0 {
			text += "(" + strconv.Itoa(p.Lost) + ")"
		}
		all = append(all, text)
	}
	return all
}

// unread is what r can read now, without waiting.
func unread(t *testing.T, r *crew.Reader) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return texts(r.Read(ctx))
}

func TestReportsReachTheReaders(t *testing.T) {
	t.Run("of the run and of those around it", func(t *testing.T) {
		var rs crew.Readers
		var top crew.Feed
		middle := crew.Feed{Around: &top}
		inner, other := crew.Feed{Around: &middle}, crew.Feed{Around: &top}
		ofTop, ofMiddle := rs.Open("t", &top, nil, 0), rs.Open("m", &middle, nil, 0)
		ofInner, ofOther := rs.Open("i", &inner, nil, 0), rs.Open("o", &other, nil, 0)
		report(&inner, 1, 3)
		report(&top, 3, 4)
		assert.Equal(t, []string{"1", "2", "3"}, unread(t, ofTop))
		assert.Equal(t, []string{"1", "2"}, unread(t, ofMiddle))
		assert.Equal(t, []string{"1", "2"}, unread(t, ofInner))
		assert.Empty(t, unread(t, ofOther))
	})
	t.Run("each of them gets all", func(t *testing.T) {
		var rs crew.Readers
		var f crew.Feed
		one, other := rs.Open("one", &f, nil, 0), rs.Open("other", &f, nil, 0)
		report(&f, 1, 3)
		assert.Equal(t, []string{"1", "2"}, unread(t, one))
		report(&f, 3, 4)
		assert.Equal(t, []string{"3"}, unread(t, one))
		assert.Equal(t, []string{"1", "2", "3"}, unread(t, other))
	})
	t.Run("and nobody else", func(t *testing.T) {
		var rs crew.Readers
		var f crew.Feed
		report(&f, 1, 3)
		r := rs.Open("late", &f, nil, 0)
		assert.Empty(t, unread(t, r), "what came before it is not kept")
	})
}

func TestWatching(t *testing.T) {
	var rs crew.Readers
	var outer crew.Feed
	inner := crew.Feed{Around: &outer}
	assert.False(t, outer.Watching())
	assert.False(t, inner.Watching())
	rs.Open("inner", &inner, nil, 0)
	assert.True(t, inner.Watching())
	assert.False(t, outer.Watching(), "who reads a run inside does not read this one")
	rs.Open("outer", &outer, nil, 0)
	rs.Close("inner")
	assert.True(t, outer.Watching())
	assert.True(t, inner.Watching(), "by the reader of the run around it")
	rs.Close("outer")
	assert.False(t, inner.Watching())
}

func TestReadWaits(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, f *crew.Feed, r *crew.Reader, over chan struct{}){
		"for a report": func(t *testing.T, f *crew.Feed, r *crew.Reader, _ chan struct{}) {
			t.Helper()
			time.AfterFunc(time.Minute, func() { report(f, 1, 2) })
			assert.Equal(t, []string{"1"}, texts(r.Read(t.Context())))
		},
		"for the end of the run": func(t *testing.T, _ *crew.Feed, r *crew.Reader, over chan struct{}) {
			t.Helper()
			time.AfterFunc(time.Minute, func() { close(over) })
			assert.False(t, r.Over())
			assert.Empty(t, r.Read(t.Context()))
			assert.True(t, r.Over())
		},
		"until its context is done": func(t *testing.T, _ *crew.Feed, r *crew.Reader, _ chan struct{}) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			assert.Empty(t, r.Read(ctx))
			assert.False(t, r.Over())
		},
		"again after it has read all": func(t *testing.T, f *crew.Feed, r *crew.Reader, _ chan struct{}) {
			t.Helper()
			report(f, 1, 3)
			assert.Equal(t, []string{"1", "2"}, texts(r.Read(t.Context())))
			time.AfterFunc(time.Minute, func() { report(f, 3, 4) })
			assert.Equal(t, []string{"3"}, texts(r.Read(t.Context())))
		},
		"also after one whose context was done": func(t *testing.T, f *crew.Feed, r *crew.Reader, _ chan struct{}) {
			t.Helper()
			report(f, 1, 2)
			assert.NotEmpty(t, unread(t, r)) // by its context or by the report: both are ready
			time.AfterFunc(time.Minute, func() { report(f, 2, 3) })
			assert.Equal(t, []string{"2"}, texts(r.Read(t.Context())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 { // select takes any that is ready
				synctest.Test(t, func(t *testing.T) {
					var rs crew.Readers
					var f crew.Feed
					over := make(chan struct{})
					r := rs.Open("r", &f, over, 0)
					began := time.Now()
					test(t, &f, r, over)
					assert.Equal(t, time.Minute, time.Since(began))
				})
			}
		})
	}
	t.Run("not where there is something unread of a run that is over", func(t *testing.T) {
		var rs crew.Readers
		var f crew.Feed
		over := make(chan struct{})
		r := rs.Open("r", &f, over, 0)
		report(&f, 1, 3)
		close(over)
		assert.True(t, r.Over())
		assert.Equal(t, []string{"1", "2"}, texts(r.Read(t.Context())), "it outlives the run until all is read")
		assert.Empty(t, r.Read(t.Context()))
	})
}

func TestSlowReadersMissReports(t *testing.T) {
	t.Run("those behind 256, and they learn how many", func(t *testing.T) {
		var rs crew.Readers
		var f crew.Feed
		r := rs.Open("r", &f, nil, 0)
		report(&f, 0, 260)
		got := unread(t, r)
		require.Len(t, got, 256)
		assert.Equal(t, "0", got[0])
		assert.Equal(t, "255", got[255])
		report(&f, 260, 262)
		assert.Equal(t, []string{"260(4)", "261"}, unread(t, r))
		report(&f, 262, 262+256+1)
		assert.Equal(t, "262", unread(t, r)[0])
		report(&f, 600, 601)
		assert.Equal(t, []string{"600(1)"}, unread(t, r), "counted since the last one")
	})
	t.Run("not the others", func(t *testing.T) {
		var rs crew.Readers
		var f crew.Feed
		slow := rs.Open("slow", &f, nil, 0)
		report(&f, 0, 256)
		quick := rs.Open("quick", &f, nil, 0)
		report(&f, 256, 300)
		assert.Len(t, unread(t, quick), 44)
		assert.Len(t, unread(t, slow), 256)
	})
	t.Run("whatever they read when", rapid.MakeCheck(func(t *rapid.T) {
		var rs crew.Readers
		var f crew.Feed
		r := rs.Open("r", &f, nil, 0)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		reported, seen := 0, 0
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 400), 1, 6).Draw(t, "reports between reads") {
			report(&f, reported, reported+n)
			reported += n
			ps := r.Read(done)
			if len(ps) != min(n, 256) {
				t.Fatalf("%d reports were read of %d", len(ps), n)
			}
			for _, p := range ps {
				if seen += p.Lost; p.Text != strconv.Itoa(seen) {
					t.Fatalf("report %s was read, want %d", p.Text, seen)
				}
				seen++
			}
		}
	}))
}

func TestFeedsAreSafeForConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rs crew.Readers
		var outer crew.Feed
		inner := crew.Feed{Around: &outer}
		over := make(chan struct{})
		var work sync.WaitGroup
		total := 0
		r := rs.Open("all", &outer, over, 0)
		var reading sync.WaitGroup
		reading.Go(func() {
			for {
				ps := r.Read(t.Context())
				for _, p := range ps {
					total += 1 + p.Lost
				}
				if len(ps) == 0 && r.Over() {
					return
				}
			}
		})
		for i := range 4 {
			work.Go(func() { report(&inner, 0, 50) })
			work.Go(func() {
				name := strconv.Itoa(i)
				for range 50 {
					rs.Open(name, &inner, nil, time.Minute)
					_ = inner.Watching()
					rs.Close(name)
				}
			})
		}
		work.Wait()
		close(over)
		reading.Wait()
		assert.Equal(t, 200, total)
	})
}
