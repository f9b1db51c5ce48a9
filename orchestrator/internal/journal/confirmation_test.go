package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
)

// noisy is a store whose Records fail as often as it is told.
type noisy struct {
	runlog.Store
	fails, looks int
}

// Records implements runlog.Store.
func (s *noisy) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if s.looks++; s.looks <= s.fails {
		return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{}, errDisk) }
	}
	return s.Store.Records(ctx, run, from)
}

func TestConfirmationsThatAreLost(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"are no conflict": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			d := newDesk(t, double.Store())
			double.Only("Append")
			r := d.run("r")
			for range 3 {
				double.Lose(1)
				require.NoError(t, r.sync(fmt.Sprint(len(r.told)), json.RawMessage(`{"a":1}`)))
			}
			assert.Equal(t, "0 1 2", d.kinds(t, "r"))
			assert.Equal(t, 6, double.Calls("Append"))
		},
		"of a batch neither": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			a, b := d.started(t, "a"), d.started(t, "b")
			release := store.hold()
			a.write("one", nil)
			synctest.Wait()
			for _, r := range []*run{b, a, b} {
				r.write("two", nil)
			}
			store.before = func(n int, recs []runlog.Record) error {
				if n == 3 {
					require.NoError(t, store.Memory.Append(t.Context(), recs))
					return errDisk
				}
				return nil
			}
			release()
			pass(time.Second)
			assert.Equal(t, "started one two", a.outcome())
			assert.Equal(t, "started two two", b.outcome())
			require.NoError(t, a.err(t))
			require.NoError(t, b.err(t))
			assert.Equal(t, "started one two", d.kinds(t, "a"))
		},
		"are looked up until that works": func(t *testing.T) {
			double := doubles.New(runlog.NewMemory())
			store := &noisy{Store: struct{ runlog.Store }{double.Store()}, fails: 2}
			d := newDesk(t, store)
			double.Lose(1)
			r := d.run("r")
			require.NoError(t, r.sync(runlog.Started, nil))
			assert.Equal(t, 3, store.looks)
			assert.Equal(t, 4, double.Calls("Append"))
		},
		"are not looked up without need": func(t *testing.T) {
			memory := runlog.NewMemory()
			store := &noisy{Store: struct{ runlog.Store }{memory}}
			d := newDesk(t, store)
			r := d.started(t, "r")
			require.NoError(t, memory.Append(t.Context(), []runlog.Record{{Run: "r", Seq: 1, Kind: runlog.Resumed}}))
			require.ErrorIs(t, r.sync("note", nil), runlog.ErrConflict)
			assert.Zero(t, store.looks, "nobody tried before")
		},
	})
}

// TestAnotherWriterIsAConflict has another engine write the record that an Append which
// failed did not: whatever differs, it is not taken for the own one.
func TestAnotherWriterIsAConflict(t *testing.T) {
	now := time.Now()
	for name, differ := range map[string]func(*runlog.Record){
		"":       func(*runlog.Record) {},
		"Kind":   func(rec *runlog.Record) { rec.Kind = "other" },
		"Branch": func(rec *runlog.Record) { rec.Branch = "0.2" },
		"N":      func(rec *runlog.Record) { rec.N++ },
		"Name":   func(rec *runlog.Record) { rec.Name = "other" },
		"At":     func(rec *runlog.Record) { rec.At = rec.At.Add(1) },
		"Data":   func(rec *runlog.Record) { rec.Data = json.RawMessage(`{"a":2}`) },
		"Blob":   func(rec *runlog.Record) { rec.Blob = runlog.BlobHash(nil) },
	} {
		t.Run("by its "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newTap()
				d := newDesk(t, store)
				r := d.started(t, "r")
				store.before = func(n int, recs []runlog.Record) error {
					if n > 1 {
						return nil
					}
					other := recs[0]
					differ(&other)
					require.NoError(t, store.Memory.Append(t.Context(), []runlog.Record{other}))
					return errDisk
				}
				e := r.entry("note", nil)
				e.At, e.Branch, e.N, e.Data = now, "0.1", 4, json.RawMessage(`{"a":1}`)
				err := d.WriteSync(t.Context(), r.log, e)
				if name == "" {
					require.NoError(t, err, "it is the own one")
					return
				}
				require.ErrorIs(t, err, runlog.ErrConflict)
			})
		})
	}
	t.Run("also where its record is gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			store.before = func(n int, _ []runlog.Record) error {
				if n == 1 {
					return errDisk
				}
				return runlog.ErrConflict
			}
			require.ErrorIs(t, r.sync("note", nil), runlog.ErrConflict)
		})
	})
}
