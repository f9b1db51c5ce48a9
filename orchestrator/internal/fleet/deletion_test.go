package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// deletes deletes a run in an engine that owns these.
func (h *host) deletes(ctx context.Context, run string, owns ...string) ([]string, error) {
	return h.Delete(ctx, run, func(id string) bool { return slices.Contains(owns, id) })
}

// tree is the runs root, with the children a and b, of which a has the child a1, and twig,
// which is beside them. All are cid's, who is dead.
func (s *store) tree(t *testing.T) {
	t.Helper()
	s.start(t, "root", "cid")
	s.start(t, "a", "cid", inside("root"))
	s.start(t, "b", "cid", inside("root"))
	s.start(t, "a1", "cid", inside("a"))
	s.start(t, "twig", "cid")
}

// isRunning requires that err says which engine works on a run.
func isRunning(t *testing.T, err error, holder, run string) {
	t.Helper()
	var crossed *agent.Error
	require.ErrorIs(t, err, engine.ErrRunning)
	require.ErrorAs(t, err, &crossed)
	require.EqualError(t, err, fmt.Sprintf("running: engine %q works on run %q: cancel it first", holder, run))
}

func TestDelete(t *testing.T) {
	all := []string{"a", "a1", "b", "root", "twig"}
	for name, test := range map[string]func(*testing.T, *store, *host){
		"takes all runs inside of the run": func(t *testing.T, s *store, h *host) {
			gone, err := h.deletes(t.Context(), "root")
			require.NoError(t, err)
			assert.Equal(t, "root", gone[0])
			assert.Equal(t, "a1", gone[3], "the outermost first")
			assert.ElementsMatch(t, []string{"root", "a", "b", "a1"}, gone)
			assert.Equal(t, []string{"twig"}, s.has(t))
			assert.Equal(t, []string{strings.Join(gone, " ")}, texts(s.calls("Delete")), "all or none")
		},
		"takes a child without its parent": func(t *testing.T, s *store, h *host) {
			gone, err := h.deletes(t.Context(), "a")
			require.NoError(t, err)
			assert.Equal(t, []string{"a", "a1"}, gone)
			assert.Equal(t, []string{"b", "root", "twig"}, s.has(t))
		},
		"leaves all, if this engine works on one of them": func(t *testing.T, s *store, h *host) {
			for _, own := range []string{"root", "b", "a1"} {
				gone, err := h.deletes(t.Context(), "root", "twig", own)
				isRunning(t, err, "this one", own)
				assert.Empty(t, gone)
			}
			assert.Equal(t, all, s.has(t))
			assert.Empty(t, s.calls("Delete"))
		},
		"leaves all, if another engine works on one of them": func(t *testing.T, s *store, h *host) {
			s.resume(t, "a1", "ann")
			gone, err := h.deletes(t.Context(), "root")
			isRunning(t, err, "ann", "a1")
			assert.Empty(t, gone)
			assert.Equal(t, all, s.has(t))
			s.stuck(t, "a1")
			_, err = h.deletes(t.Context(), "root")
			require.NoError(t, err, "nobody works on a run that is stuck")
		},
		"takes runs that ended, whoever worked on them": func(t *testing.T, s *store, h *host) {
			for _, run := range []string{"root", "a", "b", "a1"} {
				s.resume(t, run, "ann")
				s.end(t, run, "1")
			}
			_, err := h.deletes(t.Context(), "root")
			require.NoError(t, err)
			assert.Equal(t, []string{"twig"}, s.has(t))
			assert.Empty(t, s.calls("Alive"))
		},
		"takes runs of this engine that stopped": func(t *testing.T, s *store, h *host) {
			s.resume(t, "root", "me")
			require.NoError(t, s.Memory.Beat(t.Context(), "me", time.Hour))
			_, err := h.deletes(t.Context(), "root")
			require.NoError(t, err)
		},
		"takes runs that it could not resume": func(t *testing.T, s *store, h *host) {
			s.start(t, "old", "cid", version(7))
			_, err := h.deletes(t.Context(), "old")
			require.NoError(t, err)
		},
		"does not mind a run that is not there": func(t *testing.T, s *store, h *host) {
			gone, err := h.deletes(t.Context(), "nobody's")
			require.NoError(t, err)
			assert.Equal(t, []string{"nobody's"}, gone)
			assert.Equal(t, all, s.has(t))
			_, err = h.deletes(t.Context(), "just begun", "just begun")
			isRunning(t, err, "this one", "just begun")
		},
		"fails with the store": func(t *testing.T, s *store, h *host) {
			s.resume(t, "root", "ann")
			for _, method := range []string{"List", "Alive"} {
				s.fails(method)
				_, err := h.deletes(t.Context(), "root")
				require.ErrorIs(t, err, errDisk, method)
			}
			s.fails("Delete")
			_, err := h.deletes(t.Context(), "twig")
			require.ErrorIs(t, err, errDisk)
			assert.Equal(t, all, s.has(t))
			lists := 0
			s.breaks(func(context.Context) error {
				if lists++; lists == 2 { // the first is that of its children
					return errDisk
				}
				return nil
			}, "List")
			_, err = h.deletes(t.Context(), "twig")
			require.ErrorIs(t, err, errDisk)
			assert.Equal(t, all, s.has(t))
		},
		"says that the store is no Deleter": func(t *testing.T, s *store, _ *host) {
			_, err := newHost(t, "me", s.plain()).deletes(t.Context(), "root")
			require.EqualError(t, err, "the store cannot delete runs: it is no runlog.Deleter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := office(t)
			s.tree(t)
			test(t, s, h)
		})
	}
}

// prunes prunes, and returns what gone was told, in order.
func (h *host) prunes(ctx context.Context, q runlog.Query) (gone [][]string, err error) {
	err = h.Prune(ctx, q, func(ids []string) { gone = append(gone, ids) })
	return gone, err
}

// ended puts n ended runs on record, 000, 001 and so on, from the newest to the oldest.
func (s *store) ended(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		run := fmt.Sprintf("%03d", i)
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		start, err := engine.Encode(engine.StartedData{Version: 1, Owner: "ann"})
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), []runlog.Record{
			{Run: run, Kind: runlog.Started, Name: flow.Name, Data: start, At: at},
			{Run: run, Seq: 1, Kind: runlog.Ended, Data: []byte(`{"status":"done"}`), At: at},
		}))
	}
}

func TestPrune(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *store, *host){
		"takes only runs that ended": func(t *testing.T, s *store, h *host) {
			s.tree(t)
			s.end(t, "twig", "1")
			s.start(t, "stuck", "cid")
			s.stuck(t, "stuck")
			gone, err := h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			assert.Equal(t, [][]string{{"twig"}}, gone)
			assert.Equal(t, []string{"a", "a1", "b", "root", "stuck"}, s.has(t))
		},
		"takes children with their parents only": func(t *testing.T, s *store, h *host) {
			s.tree(t)
			for _, run := range []string{"a1", "a"} {
				s.end(t, run, "1")
			}
			gone, err := h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			assert.Empty(t, gone)
			s.end(t, "root", "1")
			gone, err = h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			assert.Empty(t, gone, "b has not ended")
			s.stuck(t, "b")
			gone, err = h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			require.Len(t, gone, 1)
			assert.ElementsMatch(t, []string{"root", "a", "b", "a1"}, gone[0])
			assert.Equal(t, []string{"twig"}, s.has(t))
		},
		"takes what the query selects": func(t *testing.T, s *store, h *host) {
			s.ended(t, 6)
			s.start(t, "r", "cid", labeled("zone", "us"))
			s.end(t, "r", "1")
			gone, err := h.prunes(t.Context(), runlog.Query{Before: time.Now().Add(-150 * time.Minute)})
			require.NoError(t, err)
			assert.Equal(t, [][]string{{"003", "004", "005"}}, gone)
			gone, err = h.prunes(t.Context(), runlog.Query{Label: "zone=us", Open: true})
			require.NoError(t, err)
			assert.Equal(t, [][]string{{"r"}}, gone, "Open does not count")
			assert.Equal(t, []string{"000", "001", "002"}, s.has(t))
		},
		"counts runs without their children for the limit": func(t *testing.T, s *store, h *host) {
			s.ended(t, 3)
			s.start(t, "open", "cid") // newer than all
			s.start(t, "child", "cid", inside("001"))
			s.end(t, "child", "1")
			gone, err := h.prunes(t.Context(), runlog.Query{Limit: 2})
			require.NoError(t, err)
			assert.Equal(t, [][]string{{"000", "001", "child"}}, gone)
			assert.Equal(t, []string{"002", "open"}, s.has(t))
		},
		"deletes 50 runs at once": func(t *testing.T, s *store, h *host) {
			s.ended(t, 120)
			gone, err := h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			require.Len(t, gone, 3)
			assert.Len(t, gone[0], 50)
			assert.Len(t, gone[1], 50)
			assert.Len(t, gone[2], 20)
			assert.Empty(t, s.has(t))
			assert.Len(t, s.calls("Delete"), 3)
			for i, n := range s.calls("Delete") {
				assert.Equal(t, strings.Join(gone[i], " "), n.what)
			}
		},
		"keeps families together in a batch": func(t *testing.T, s *store, h *host) {
			s.ended(t, 51)
			for i := range 51 {
				s.start(t, fmt.Sprint("child", i), "cid", inside(fmt.Sprintf("%03d", i)))
				s.end(t, fmt.Sprint("child", i), "1")
			}
			gone, err := h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			require.Len(t, gone, 2)
			assert.Len(t, gone[0], 100)
			assert.Equal(t, []string{"050", "child50"}, gone[1])
		},
		"tells what is gone when the store fails midway": func(t *testing.T, s *store, h *host) {
			s.ended(t, 120)
			deletes := 0
			s.breaks(func(context.Context) error {
				if deletes++; deletes == 2 {
					return errDisk
				}
				return nil
			}, "Delete")
			gone, err := h.prunes(t.Context(), runlog.Query{})
			require.ErrorIs(t, err, errDisk)
			require.Len(t, gone, 1)
			assert.Len(t, s.has(t), 70)
			assert.Equal(t, 2, deletes, "it ends there")
			for _, run := range gone[0] {
				assert.NotContains(t, s.has(t), run)
			}
		},
		"deletes nothing if runs or their children cannot be listed": func(t *testing.T, s *store, h *host) {
			s.ended(t, 3)
			for n := 1; n <= 4; n++ { // the runs, and then the children of each
				lists := 0
				s.breaks(func(context.Context) error {
					if lists++; lists == n {
						return errDisk
					}
					return nil
				}, "List")
				gone, err := h.prunes(t.Context(), runlog.Query{})
				require.ErrorIs(t, err, errDisk)
				assert.Empty(t, gone)
			}
			assert.Len(t, s.has(t), 3)
		},
		"does nothing if there is nothing": func(t *testing.T, s *store, h *host) {
			gone, err := h.prunes(t.Context(), runlog.Query{})
			require.NoError(t, err)
			assert.Empty(t, gone)
			assert.Empty(t, s.calls("Delete"))
		},
		"says that the store is no Deleter": func(t *testing.T, s *store, _ *host) {
			s.ended(t, 1)
			gone, err := newHost(t, "me", s.plain()).prunes(t.Context(), runlog.Query{})
			require.ErrorContains(t, err, "no runlog.Deleter")
			assert.NotErrorIs(t, err, errors.ErrUnsupported)
			assert.Empty(t, gone)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := office(t)
			test(t, s, h)
		})
	}
}
