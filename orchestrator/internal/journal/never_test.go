package journal_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
	"github.com/convene-go/convene/orchestrator/internal/journal"
	"github.com/convene-go/convene/providers"
)

// refuses has Append never take records of that kind, nor answers of 1,000 bytes. The
// first call waits until the returned function is called.
func (s *tap) refuses(kind string, never error) (release func()) {
	open := s.hold()
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.before
	s.before = func(n int, recs []runlog.Record) error {
		_ = held(n, recs)
		if slices.ContainsFunc(recs, func(r runlog.Record) bool { return r.Kind == kind || len(r.Data) > 1000 }) {
			return fmt.Errorf("this store: %w", never)
		}
		return nil
	}
	return open
}

func answer(text string) *engine.CalledData {
	return &engine.CalledData{Response: &agent.Response{Text: text, Usage: providers.Usage{Calls: 1, Cost: 3}}, Request: []string{"hash"}}
}

func TestWhatAStoreNeverTakes(t *testing.T) {
	for _, never := range []error{runlog.ErrTooLarge, runlog.ErrRefused} {
		bubble(t, map[string]func(*testing.T){
			never.Error() + ": only the record is left out, in its place the next one follows": func(t *testing.T) {
				store := newTap()
				d := newDesk(t, store)
				a, b := d.started(t, "a"), d.started(t, "b")
				release := store.refuses("bad", never)
				b.write("one", nil)
				synctest.Wait()
				for _, kind := range []string{"one", "bad", "two", "bad", "three"} {
					a.write(kind, nil)
				}
				b.write("two", nil)
				began := time.Now()
				release()
				assert.Equal(t, "started one bad! two bad! three", a.outcome())
				assert.Equal(t, "started one two", b.outcome())
				assert.Equal(t, "started one two three", d.kinds(t, "a"))
				require.ErrorIs(t, a.errs[2], never)
				require.NotErrorIs(t, a.errs[2], journal.ErrOutage)
				assert.True(t, final.IsNever(a.errs[4]))
				assert.Zero(t, time.Since(began))
				assert.Empty(t, d.warn.String(), "it is no outage")
				require.ErrorIs(t, a.sync("bad", nil), never)
				require.NoError(t, a.sync(runlog.Stuck, nil))
				assert.Equal(t, "started one two three stuck", d.kinds(t, "a"))
			},
			never.Error() + ": an end can be refused, and the log is open": func(t *testing.T) {
				store := newTap()
				d := newDesk(t, store)
				r := d.started(t, "r")
				store.refuses(runlog.Ended, never)()
				require.ErrorIs(t, r.sync(runlog.Ended, nil), never)
				require.NoError(t, r.sync(runlog.Stuck, nil))
				assert.Equal(t, "started stuck", d.kinds(t, "r"))
			},
			never.Error() + ": an answer is the failure of its call, in its place": func(t *testing.T) {
				store := newTap()
				d := newDesk(t, store)
				r := d.started(t, "r")
				release := store.refuses("bad", never)
				r.write("one", nil)
				synctest.Wait()
				large, failed := answer(strings.Repeat("x", 2000)), &engine.CalledData{Err: &agent.Error{Message: strings.Repeat("x", 2000), Codes: []agent.Code{"its own"}, Usage: providers.Usage{Calls: 2}}}
				r.write(runlog.Called, answer("small"))
				r.write(runlog.Called, large)
				r.write(runlog.Called, failed)
				r.write("two", nil)
				release()
				assert.Equal(t, "started one called called called two", r.outcome())
				assert.Equal(t, "started one called called called two", d.kinds(t, "r"))
				want := map[error]error{runlog.ErrTooLarge: engine.ErrTooLarge, runlog.ErrRefused: engine.ErrUnstorable}[never]
				for _, got := range []*engine.CalledData{large, read(t, d, "r", 3)} {
					require.ErrorIs(t, got.Err, want)
					assert.Nil(t, got.Response)
					assert.Nil(t, got.Request)
					assert.Equal(t, providers.Usage{Calls: 1, Cost: 3}, got.Err.Usage)
				}
				for _, got := range []*engine.CalledData{failed, read(t, d, "r", 4)} {
					require.ErrorIs(t, got.Err, want)
					require.ErrorIs(t, got.Err, agent.Code("its own"))
					assert.Equal(t, providers.Usage{Calls: 2}, got.Err.Usage)
				}
				assert.Equal(t, "small", read(t, d, "r", 2).Response.Text)
			},
			never.Error() + ": a failure that is refused too is left out": func(t *testing.T) {
				store := newTap()
				d := newDesk(t, store)
				r := d.started(t, "r")
				store.refuses(runlog.Called, never)()
				n := store.calls()
				require.ErrorIs(t, r.sync(runlog.Called, answer("small")), never)
				assert.Equal(t, n+2, store.calls())
				require.NoError(t, r.sync("on", nil))
				assert.Equal(t, "started on", d.kinds(t, "r"))
			},
		})
	}
}

// TestAPoisonousRecordIsFoundByHalves has one such record among many.
func TestAPoisonousRecordIsFoundByHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTap()
		d := newDesk(t, store)
		first := d.started(t, "first")
		runs := make([]*run, 500)
		for i := range runs {
			runs[i] = d.started(t, fmt.Sprint(i))
		}
		release := store.refuses("bad", runlog.ErrTooLarge)
		first.write("one", nil)
		synctest.Wait()
		n := store.calls()
		for i, r := range runs {
			r.write(map[bool]string{true: "bad", false: "good"}[i == 137], nil)
		}
		release()
		assert.LessOrEqual(t, store.calls()-n, 19)
		for i, r := range runs {
			assert.Equal(t, map[bool]string{true: "started bad!", false: "started good"}[i == 137], r.outcome())
		}
	})
}

// TestACommitOfUnknownOutcomeThatIsTriedInHalves has a store that stored a batch, and
// confirmed it never.
func TestACommitOfUnknownOutcomeThatIsTriedInHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTap()
		d := newDesk(t, store)
		a, b := d.started(t, "a"), d.started(t, "b")
		release := store.hold()
		a.write("one", nil)
		synctest.Wait()
		a.write("two", nil)
		b.write("two", nil)
		held := store.before
		stored := false
		store.before = func(n int, recs []runlog.Record) error {
			_ = held(n, recs)
			if len(recs) == 2 && !stored {
				stored = store.Memory.Append(t.Context(), recs) == nil
			}
			if len(recs) == 2 {
				return errDisk
			}
			return nil
		}
		release()
		pass(2 * outage)
		assert.Equal(t, "started one two", a.outcome())
		assert.Equal(t, "started two", b.outcome())
	})
}

// TestAStoreThatHangsIsNotAskedForEachRun has an outage of a store that hangs.
func TestAStoreThatHangsIsNotAskedForEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTap()
		d := newDesk(t, store)
		var runs []*run
		for i := range 100 {
			runs = append(runs, d.started(t, fmt.Sprint(i)))
		}
		began := time.Now()
		store.before = func(n int, _ []runlog.Record) error {
			ctx := store.batches[n].ctx
			<-ctx.Done()
			return ctx.Err()
		}
		for _, r := range runs {
			r.write("note", nil)
		}
		pass(outage + 7*journal.AppendLimit) // 6 are the most that it may take
		for _, r := range runs {
			assert.Equal(t, "started note!", r.outcome(), "after %v", time.Since(began))
		}
	})
}

// TestOutageOfThePromisedLength has stores that fail for almost as long as they may.
func TestOutageOfThePromisedLength(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 4 * time.Second, 7 * time.Second, 30 * time.Second, time.Minute} {
		t.Run(length.String(), func(t *testing.T) {
			for range 10 { // waits are by chance
				synctest.Test(t, func(t *testing.T) {
					store := newTap()
					d := newDeskFor(t, store, length)
					r := d.started(t, "r")
					store.fails(errDisk)
					time.AfterFunc(length-time.Millisecond, store.heals)
					require.NoError(t, r.sync("note", nil))
					store.fails(errDisk)
					began := time.Now()
					err := r.sync("note", nil)
					assert.Equal(t, length, time.Since(began))
					require.ErrorContains(t, err, fmt.Sprintf("the store failed for %v, and", length))
				})
			}
		})
	}
	t.Run("the time is the real one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			store.fails(errDisk)
			r.write("note", nil)
			pass(1500 * time.Millisecond)
			d.shut()
			synctest.Wait()
			require.ErrorContains(t, r.err(t), "the store failed for 1.5s, and")
		})
	})
}

// TestTextsWithoutAStore has values that are larger than a record can be.
func TestTextsWithoutAStore(t *testing.T) {
	huge := strings.Repeat("\x01", engine.MaxData/5) // a byte of it is six of JSON
	d := newDesk(t, nil)
	r := d.started(t, "r")
	large := answer(huge)
	require.NoError(t, r.sync(runlog.Called, large))
	require.ErrorIs(t, large.Err, engine.ErrTooLarge)
	output, err := json.Marshal(huge[:engine.MaxData/6])
	require.NoError(t, err)
	end := engine.EndedData{End: engine.End{Output: output}}
	require.ErrorIs(t, r.sync(runlog.Ended, end), engine.ErrTooLarge)
	require.ErrorIs(t, d.run("s").sync(runlog.Started, engine.StartedData{Input: engine.Input{Data: output}}), engine.ErrTooLarge)
	assert.Equal(t, "started called", d.kinds(t, "r"), "the log can be read")
}

// TestEndsAreNotCopied has a log in memory take the JSON of an end as it is: it would be no
// longer as a record.
func TestEndsAreNotCopied(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	output := []byte(`"` + strings.Repeat("x", engine.MaxData/4) + `"`)
	r := newDesk(t, nil).started(t, "r")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, r.sync(runlog.Ended, engine.EndedData{End: engine.End{Output: output}}))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(output)/4))
}
