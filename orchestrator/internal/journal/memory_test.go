package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
	"github.com/convene-go/convene/providers"
)

// counted is a value that counts how often it is encoded.
type counted struct {
	mu    sync.Mutex
	times int
	err   error // what encoding it fails with; nil: it does not
}

// MarshalJSON implements json.Marshaler.
func (c *counted) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times++
	return []byte(fmt.Sprintf(`{"times":%d}`, c.times)), c.err
}

func TestNothingIsEncodedUntilItIsRead(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"and then once": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.run("r")
			v := &counted{}
			require.NoError(t, r.sync(runlog.Started, nil))
			require.NoError(t, r.sync("note", v))
			assert.Zero(t, v.times)
			for range 2 {
				recs := d.records(t, "r")
				assert.Nil(t, recs[0].Data)
				assert.Equal(t, `{"times":1}`, string(recs[1].Data))
			}
			assert.Equal(t, 1, v.times)
			require.NoError(t, r.sync("more", nil))
			assert.Equal(t, "started note more", d.kinds(t, "r"), "it goes on behind what was read")
			assert.Equal(t, 1, v.times)
		},
		"by whoever reads": func(t *testing.T) {
			for name, read := range map[string]func(d *desk) error{
				"Records": func(d *desk) error {
					for _, err := range d.Records(t.Context(), "r", 2) {
						return err
					}
					return nil
				},
				"List": func(d *desk) error {
					for _, err := range d.List(t.Context(), runlog.Query{}) {
						return err
					}
					return nil
				},
				"Last": func(d *desk) error { _, err := d.Last(t.Context(), "r"); return err },
			} {
				d := newDesk(t, nil)
				r, v := d.started(t, "r"), &counted{}
				require.NoError(t, r.sync("note", v))
				require.NoError(t, read(d), name)
				assert.Equal(t, 1, v.times, name)

				broken := &counted{err: errors.New("no JSON")}
				require.NoError(t, r.sync("note", broken))
				require.ErrorContains(t, read(d), "no JSON", name)
				require.ErrorContains(t, read(d), "no JSON", "it is not forgotten")
				broken.err = nil
				require.NoError(t, read(d), name)
				assert.Equal(t, "started note note", d.kinds(t, "r"))
			}
		},
		"and stays where who reads it has no time": func(t *testing.T) {
			d := newDesk(t, nil)
			d.started(t, "r")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := d.Last(ctx, "r")
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, "started", d.kinds(t, "r"))
		},
		"and of a run that is looked at only its start and its end": func(t *testing.T) {
			d := newDesk(t, nil)
			r, v := d.run("r"), &counted{}
			require.NoError(t, r.sync(runlog.Started, engine.StartedData{Version: 3, Owner: "e"}))
			require.NoError(t, r.sync("note", v))
			for range 2 {
				l, err := d.Listing(t.Context(), "r")
				require.NoError(t, err)
				assert.Equal(t, int64(2), l.Next)
				assert.Equal(t, 3, l.Version)
				require.NoError(t, d.Figures(t.Context(), engine.Tally{}, &engine.View{Listing: l}))
			}
			assert.Zero(t, v.times)
			assert.Equal(t, "started note", d.kinds(t, "r"))
			require.NoError(t, r.sync(runlog.Ended, engine.EndedData{End: engine.End{Status: engine.Failed}}))
			l, err := d.Listing(t.Context(), "r")
			require.NoError(t, err)
			assert.True(t, l.Ended)
			assert.Equal(t, string(engine.Failed), l.Status)
			for q, want := range map[runlog.Query]int{{Run: "r", Open: true}: 0, {Run: "r", Status: string(engine.Failed)}: 1, {Run: "s"}: 0} {
				for _, err := range d.List(t.Context(), q) {
					require.NoError(t, err)
					want--
				}
				assert.Zero(t, want, q)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = d.Listing(ctx, "r")
			require.ErrorIs(t, err, context.Canceled)
		},
		"and of one run only where that is read": func(t *testing.T) {
			d := newDesk(t, nil)
			a, b := d.started(t, "a"), d.started(t, "b")
			ofA, ofB := &counted{}, &counted{}
			require.NoError(t, a.sync("note", ofA))
			require.NoError(t, b.sync("note", ofB))
			assert.Len(t, d.records(t, "a"), 2)
			assert.Equal(t, 1, ofA.times)
			assert.Zero(t, ofB.times)
			all := 0
			for _, err := range d.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				all++
			}
			assert.Equal(t, 2, all)
			assert.Equal(t, 1, ofB.times)
		},
		"but with a store at once": func(t *testing.T) {
			d := newDesk(t, newTap())
			v := &counted{}
			require.NoError(t, d.run("r").sync(runlog.Started, v))
			assert.Equal(t, 1, v.times)
			assert.Equal(t, `{"times":1}`, string(d.records(t, "r")[0].Data))
			assert.Equal(t, 1, v.times)
		},
	})
}

// TestWhatAFlowCouldChange changes a value after it was written: the log has what it was,
// unless nothing of it can be changed by a flow.
func TestWhatAFlowCouldChange(t *testing.T) {
	both(t, func(t *testing.T, d *desk) {
		for name, tt := range map[string]struct {
			data   engine.CalledData
			change func(d *engine.CalledData)
		}{
			"Data": {
				engine.CalledData{Response: &agent.Response{Data: json.RawMessage(`"old"`)}},
				func(d *engine.CalledData) { copy(d.Response.Data, `"new"`) },
			},
			"Messages": {
				engine.CalledData{Response: &agent.Response{Messages: []providers.Message{{Role: "old"}}}},
				func(d *engine.CalledData) { d.Response.Messages[0].Role = "new" },
			},
			"the error": {
				engine.CalledData{Err: &agent.Error{Message: "old", Codes: []agent.Code{"old"}}},
				func(d *engine.CalledData) { d.Err.Message, d.Err.Codes[0] = "new", "new" },
			},
		} {
			r := d.started(t, name)
			require.NoError(t, r.sync(runlog.Called, &tt.data))
			tt.change(&tt.data)
			got := string(d.records(t, name)[1].Data)
			assert.Contains(t, got, "old", name)
			assert.NotContains(t, got, "new", name)
		}
	})
	bubble(t, map[string]func(*testing.T){
		"a text is not of these": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.started(t, "r")
			data := &engine.CalledData{Response: &agent.Response{Text: "old"}}
			require.NoError(t, r.sync(runlog.Called, data))
			data.Response.Text = "new" // as nobody does: it shows that nothing was encoded
			assert.Contains(t, string(d.records(t, "r")[1].Data), "new")
		},
	})
}

func TestRunsThatMemoryRemembers(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"are the last 256": func(t *testing.T) {
			d := newDesk(t, nil)
			open := d.started(t, "open")
			for i := range 260 {
				id := fmt.Sprint(i)
				r := d.started(t, id)
				require.NoError(t, r.sync(runlog.Ended, nil))
				r.log.Stop()
				if i%2 == 0 {
					d.records(t, id) // also those that were read before
				}
				oldest := d.Retire(id, true)
				if i < 256 {
					require.Empty(t, oldest)
				} else {
					require.Equal(t, []string{fmt.Sprint(i - 256)}, oldest)
				}
			}
			for i := range 4 {
				assert.Empty(t, d.records(t, fmt.Sprint(i)))
				_, err := d.Listing(t.Context(), fmt.Sprint(i))
				require.ErrorIs(t, err, engine.ErrNoRun)
			}
			assert.Equal(t, "started ended", d.kinds(t, "4"))
			assert.Equal(t, "started ended", d.kinds(t, "259"))
			assert.Equal(t, "started", d.kinds(t, "open"))
			require.NoError(t, open.sync("note", nil), "it is not forgotten while it is open")
			require.NoError(t, d.run("0").sync(runlog.Started, nil), "the name is free")
		},
		"and those that are retried": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.started(t, "r")
			r.log.Stop()
			require.Empty(t, d.Retire("r", true))
			require.Same(t, r.log, d.Open("r", &journal.Log{}))
			for i := range 256 {
				assert.Empty(t, d.Retire(fmt.Sprint(i), true))
			}
			assert.Equal(t, "started", d.kinds(t, "r"))
		},
		"but not those that were deleted": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.started(t, "r")
			r.log.Stop()
			d.Retire("r", true)
			require.NoError(t, d.Delete(t.Context(), "r"))
			for i := range 256 {
				assert.Empty(t, d.Retire(fmt.Sprint(i), true), "it is forgotten already")
			}
		},
		"with a store are all": func(t *testing.T) {
			d := newDesk(t, newTap())
			d.started(t, "r").log.Stop()
			for range 300 {
				assert.Empty(t, d.Retire("r", true))
			}
			assert.Equal(t, "started", d.kinds(t, "r"))
		},
	})
}

func TestARunThatIsRetriedHasItsLog(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"which takes again what the world says": func(t *testing.T) {
			d := newDesk(t, nil)
			r := d.started(t, "r")
			r.log.Stop()
			require.ErrorIs(t, r.sync(runlog.Answered, nil), journal.ErrLate)
			again := d.run("r")
			assert.Same(t, r.log, again.log)
			require.NoError(t, again.sync(runlog.Answered, nil))
			require.ErrorIs(t, again.sync(runlog.Started, nil), runlog.ErrConflict)
			assert.Equal(t, "started answered", d.kinds(t, "r"))
		},
		"also where it was read meanwhile": func(t *testing.T) {
			d := newDesk(t, nil)
			d.started(t, "r")
			assert.Equal(t, "started", d.kinds(t, "r"))
			require.NoError(t, d.run("r").sync(runlog.Resumed, nil))
			assert.Equal(t, "started resumed", d.kinds(t, "r"))
		},
		"unless a store has it": func(t *testing.T) {
			d := newDesk(t, newTap())
			d.started(t, "r")
			fresh := &journal.Log{}
			assert.Same(t, fresh, d.Open("r", fresh))
		},
	})
}

func TestDelete(t *testing.T) {
	both(t, func(t *testing.T, d *desk) {
		a, b := d.started(t, "a"), d.started(t, "b")
		require.NoError(t, a.sync("note", nil))
		d.started(t, "c")
		d.records(t, "b")
		require.NoError(t, d.Delete(t.Context(), "a", "b", "nobody"))
		assert.Empty(t, d.records(t, "a"))
		assert.Empty(t, d.records(t, "b"))
		assert.Equal(t, "started", d.kinds(t, "c"))
		require.NoError(t, d.run("a").sync(runlog.Started, nil), "from the start again")
		assert.Equal(t, "started", d.kinds(t, "a"))
		assert.NotSame(t, b.log, d.run("b").log)
	})
}
