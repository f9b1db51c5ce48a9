package journal_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

func TestGroupCommit(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"what is written meanwhile is one transaction": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			release := store.hold()
			first := d.Write(a.log, a.entry("one", nil))
			require.NotNil(t, first, "who finds no other goroutine committing commits")
			assert.Nil(t, d.Write(b.log, b.entry("two", nil)))
			d.pool.Do(first)
			synctest.Wait()
			c := d.run("c")
			for _, r := range []*run{a, c, a} {
				kind := "three"
				if r == c {
					kind = runlog.Started
				}
				assert.Nil(t, d.Write(r.log, r.entry(kind, nil)))
			}
			assert.Equal(t, "started", a.outcome())
			release()
			assert.Equal(t, []string{"a started", "b started", "a one, b two", "a three, c started, a three"}, store.appended())
			assert.Equal(t, "started one three three", a.outcome())
			assert.Equal(t, "started two", b.outcome())
			assert.Equal(t, "started", c.outcome())
			assert.NotNil(t, d.Write(a.log, a.entry("four", nil)), "the next one commits again")
		},
		"of 512 records at most": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			runs := []*run{d.started(t, "a"), d.started(t, "b"), d.started(t, "c")}
			release := store.hold()
			for i := range 1 + 512 + 512 + 100 {
				runs[i%3].write(fmt.Sprint(i), nil)
				if i == 0 {
					synctest.Wait()
				}
			}
			release()
			var sizes []int
			for _, b := range store.batches {
				sizes = append(sizes, len(b.recs))
			}
			assert.Equal(t, []int{1, 1, 1, 1, 512, 512, 100}, sizes)
			for i, r := range runs {
				want := "started"
				for n := i; n < 1125; n += 3 {
					want += fmt.Sprint(" ", n)
				}
				assert.Equal(t, want, d.kinds(t, r.id), "in the order in which they were written")
				assert.Equal(t, want, r.outcome(), "each told once, in that order")
			}
		},
		"nothing is appended where nothing has a place": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Ended, nil))
			require.ErrorIs(t, r.sync("note", nil), journal.ErrLate)
			assert.Len(t, store.appended(), 2)
		},
		"what has no place does not stop the others": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			a.log.Stop()
			release := store.hold()
			b.write("one", nil)
			synctest.Wait()
			a.write(runlog.Slept, nil)
			b.write("two", nil)
			a.write(runlog.Used, nil)
			release()
			assert.Equal(t, "started slept! used", a.outcome())
			require.NoError(t, a.err(t))
			assert.Equal(t, "b two, a used", store.appended()[3])
		},
		"what follows for the runs is done": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			var mu sync.Mutex
			var did []string
			var runs []*run
			for _, id := range []string{"a", "b", "c"} {
				r := d.started(t, id)
				r.next = jobs.Func(func() {
					mu.Lock()
					defer mu.Unlock()
					did = append(did, id)
				})
				runs = append(runs, r)
			}
			synctest.Wait() // no goroutine commits any more
			job := d.Write(runs[0].log, runs[0].entry("note", nil))
			d.Write(runs[1].log, runs[1].entry("note", nil))
			d.Write(runs[2].log, runs[2].entry("note", nil))
			next := job.Work()
			synctest.Wait()
			assert.ElementsMatch(t, []string{"a", "b"}, did, "on goroutines of their own")
			require.NotNil(t, next)
			next.Work()
			assert.ElementsMatch(t, []string{"a", "b", "c"}, did, "the last one is for the goroutine that committed")
		},
		"what follows does not wait for the next transaction": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			followed := 0
			a.next = jobs.Func(func() { followed++ })
			held, again := make(chan struct{}), make(chan struct{})
			store.before = func(n int, _ []runlog.Record) error {
				if n == 2 {
					<-held
				}
				if n == 3 {
					<-again
				}
				return nil
			}
			a.write("note", nil)
			synctest.Wait()
			b.write("note", nil)
			close(held)
			synctest.Wait()
			assert.Equal(t, 1, followed, "a goes on while b is being stored")
			assert.Equal(t, "started", b.outcome())
			close(again)
			synctest.Wait()
			assert.Equal(t, 1, followed)
		},
	})
}

// TestSinksAreToldOfWhatIsDurable has a look at the store whenever a Sink is told.
func TestSinksAreToldOfWhatIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTap()
		d := newDesk(t, store)
		r := d.run("r")
		looked := 0
		r.look = func(e *journal.Entry) {
			last, err := store.Last(t.Context(), "r")
			require.NoError(t, err)
			assert.GreaterOrEqual(t, last.Seq, e.Seq)
			looked++
		}
		r.write(runlog.Started, nil)
		for range 20 {
			r.write("note", nil)
		}
		require.NoError(t, r.sync(runlog.Ended, nil))
		assert.Equal(t, 22, looked)
	})
}

func TestRunsThatAreFencedOff(t *testing.T) {
	// taken has another engine write the next record of a run.
	taken := func(t *testing.T, store *tap, run string, seq int64) {
		t.Helper()
		require.NoError(t, store.Memory.Append(t.Context(), []runlog.Record{{Run: run, Seq: seq, Kind: runlog.Resumed}}))
	}
	bubble(t, map[string]func(*testing.T){
		"do not stop the others of their batch": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b, c := d.started(t, "a"), d.started(t, "b"), d.started(t, "c")
			release := store.hold()
			a.write("one", nil)
			synctest.Wait()
			taken(t, store, "b", 1)
			for _, r := range []*run{a, b, c, b, a} {
				r.write("two", nil)
			}
			release()
			assert.Equal(t, "started one two two", a.outcome())
			assert.Equal(t, "started two! two!", b.outcome())
			assert.Equal(t, "started two", c.outcome())
			for _, err := range b.errs[1:] {
				require.ErrorIs(t, err, runlog.ErrConflict)
			}
			assert.Equal(t, "started one two two", d.kinds(t, "a"))
			assert.Equal(t, "started resumed", d.kinds(t, "b"))
			assert.Equal(t, "started two", d.kinds(t, "c"))
			assert.Equal(t, []string{"a two, b two", "a two", "b two", "c two, a two"}, store.appended()[5:], "halves, and no more of b")
			require.NoError(t, a.sync("three", nil), "its log is whole")
			require.NoError(t, c.sync("three", nil))
		},
		"leave those out that have no place": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			a.log.Stop()
			release := store.hold()
			a.write(runlog.Used, nil)
			synctest.Wait()
			taken(t, store, "b", 1)
			a.write(runlog.Slept, nil)
			b.write("one", nil)
			a.write(runlog.Called, nil)
			release()
			assert.Equal(t, "started used slept! called", a.outcome())
			require.ErrorIs(t, a.errs[2], journal.ErrLate)
			assert.Equal(t, "started one!", b.outcome())
			assert.Equal(t, "started used called", d.kinds(t, "a"))
		},
		"write nothing more": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			taken(t, store, "r", 1)
			require.ErrorIs(t, r.sync("one", nil), runlog.ErrConflict)
			assert.Len(t, store.appended(), 2, "what is of one run is not tried again by itself")
			err := r.sync("two", nil)
			require.ErrorIs(t, err, runlog.ErrConflict)
			require.ErrorContains(t, err, "an earlier record was not stored")
			assert.Len(t, store.appended(), 2, "the store is not asked")
			assert.Equal(t, "started resumed", d.kinds(t, "r"))
		},
		"may be damaged": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			store.before = func(int, []runlog.Record) error { return fmt.Errorf("disk: %w", runlog.ErrDamaged) }
			require.ErrorIs(t, r.sync("one", nil), runlog.ErrDamaged)
			assert.Len(t, store.appended(), 2, "that is final")
			store.before = nil
			require.ErrorIs(t, r.sync("two", nil), runlog.ErrDamaged, "nothing follows")
		},
	})
}

// TestNothingIsLostInACrowd has many runs write at once to a store that fails and loses
// confirmations, but works again in time.
func TestNothingIsLostInACrowd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 6).Draw(rt, "records of runs")
		fails, loses := rapid.IntRange(0, 5).Draw(rt, "fails"), rapid.IntRange(0, 5).Draw(rt, "loses")
		waits := rapid.Bool().Draw(rt, "waits")
		synctest.Test(t, func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			double.Only("Append")
			double.Fail(fails)
			double.Lose(loses)
			var crowd sync.WaitGroup
			var runs []*run
			for i, n := range lengths {
				r := d.run(fmt.Sprint(i))
				runs = append(runs, r)
				crowd.Go(func() {
					r.write(runlog.Started, nil)
					for k := range n {
						if kind := fmt.Sprint(k); waits {
							assert.NoError(t, r.sync(kind, nil))
						} else {
							r.write(kind, nil)
						}
					}
					r.write(runlog.Ended, nil)
				})
			}
			crowd.Wait()
			d.pool.Close()
			double.Heal()
			for i, r := range runs {
				want := []string{"started"}
				for k := range lengths[i] {
					want = append(want, fmt.Sprint(k))
				}
				want = append(want, "ended")
				require.Equal(t, strings.Join(want, " "), r.outcome())
				require.Equal(t, strings.Join(want, " "), d.kinds(t, r.id))
			}
		})
	})
}
