package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// asksFor makes a call with that prompt, sleeps for an hour, and makes another one.
func asksFor(prompt string) script[string] {
	return flow("asksFor", func(c *orchestrator.Context) (string, error) {
		got, err := ask(c, prompt)
		if err == nil {
			err = c.Sleep(time.Hour)
		}
		if err == nil {
			_, err = ask(c, "last")
		}
		return got, err
	})
}

// calledOf are the Called records of a run.
func calledOf(t *testing.T, s runlog.Store, id string) (all []engine.CalledData) {
	t.Helper()
	for rec, err := range s.Records(t.Context(), id, 0) {
		require.NoError(t, err)
		if rec.Kind == runlog.Called {
			var d engine.CalledData
			require.NoError(t, json.Unmarshal(rec.Data, &d))
			all = append(all, d)
		}
	}
	return all
}

func TestRecordRequests(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"what agents were asked is with their answers": func(t *testing.T) {
			s := runlog.NewMemory()
			e := newEngine(t, recording(driver.Config{Store: s}))
			output(t, begin(t, e, pair, "x"))
			all := calledOf(t, s, "x")
			require.Len(t, all, 2)
			for i, d := range all {
				require.NotEmpty(t, d.Request)
				blob, err := s.Blob(t.Context(), "x", d.Request[0])
				require.NoError(t, err)
				assert.Contains(t, string(blob), []string{"one", "two"}[i])
			}
		},
		"by default it is not": func(t *testing.T) {
			s := runlog.NewMemory()
			e := newEngine(t, driver.Config{Store: s})
			output(t, begin(t, e, pair, "x"))
			for _, d := range calledOf(t, s, "x") {
				assert.Empty(t, d.Request)
			}
			for rec, err := range s.Records(t.Context(), "x", 1) {
				require.NoError(t, err)
				assert.Equal(t, rec.Kind == runlog.Called, rec.Hash != "", "only the hash of it")
			}
		},
		"a request that cannot be kept stops the run before its call": func(t *testing.T) {
			s := noBlobs{runlog.NewMemory()}
			a := &counted{Agent: echo}
			e := newEngine(t, recording(driver.Config{Store: s, Agents: agent.Roster{"a": a}}))
			_, err := begin(t, e, flow("f", func(c *orchestrator.Context) (string, error) {
				return ask(c, strings.Repeat("x", 1<<20))
			}), "x")(t.Context())
			require.ErrorContains(t, err, "no place")
			require.ErrorContains(t, err, `request of run "x", effect 0`)
			assert.Zero(t, a.n.Load())
			status(t, e, "x", engine.Suspended)
		},
	})
}

// noBlobs keeps no blobs.
type noBlobs struct{ *runlog.Memory }

func (noBlobs) PutBlob(context.Context, string, []byte) (string, error) {
	return "", fmt.Errorf("no place: %w", runlog.ErrConflict)
}

func TestAcceptChanged(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"a changed request has the run stuck": func(t *testing.T) {
			for _, requests := range []bool{false, true} {
				s := left(t, recorded(requests), asksFor("old"))
				e := newEngine(t, driver.Config{Store: s, Programs: programs(asksFor("new"))})
				resume(t, e)
				_, err := e.Wait(t.Context(), "asksFor", nil)
				require.ErrorIs(t, err, engine.ErrDiverged)
				assert.Equal(t, requests, strings.Contains(err.Error(), "old"), "it says what was asked, where that is recorded: %v", err)
				status(t, e, "asksFor", engine.Stuck)
			}
		},
		"unless it is accepted: then it has the recorded answer, and that is on record": func(t *testing.T) {
			s := left(t, driver.Config{}, asksFor("old"))
			a := &counted{Agent: echo}
			e := newEngine(t, accepting(driver.Config{Store: s, Agents: agent.Roster{"a": a}, Programs: programs(asksFor("new"))}))
			resume(t, e)
			assert.Equal(t, `"old"`, output(t, waitFor(e, "asksFor")))
			assert.Equal(t, int64(1), a.n.Load())
			assert.Contains(t, kinds(t, e, "asksFor"), "started called resumed")
			assert.Contains(t, kinds(t, e, "asksFor"), "changed")
		},
		"a flow that asks for something else is not accepted": func(t *testing.T) {
			s := left(t, driver.Config{}, asksFor("old"))
			f := flow("asksFor", func(c *orchestrator.Context) (string, error) {
				return "", errors.Join(c.Sleep(time.Hour))
			})
			e := newEngine(t, accepting(driver.Config{Store: s, Programs: programs(f)}))
			resume(t, e)
			synctest.Wait()
			status(t, e, "asksFor", engine.Stuck)
			_, err := e.Wait(t.Context(), "asksFor", nil)
			require.ErrorIs(t, err, engine.ErrDiverged)
		},
		"a flow that ends before its log does is not accepted": func(t *testing.T) {
			s := left(t, driver.Config{}, asksFor("old"))
			f := flow("asksFor", func(*orchestrator.Context) (string, error) { return "", nil })
			e := newEngine(t, driver.Config{Store: s, Programs: programs(f)})
			resume(t, e)
			synctest.Wait()
			_, err := e.Wait(t.Context(), "asksFor", nil)
			require.ErrorIs(t, err, engine.ErrDiverged)
			assert.NotContains(t, kinds(t, e, "asksFor"), "ended")
		},
	})
}

// recording returns c with requests kept on record.
func recording(c driver.Config) driver.Config {
	c.Requests.Record = true
	return c
}

// recorded returns a Config that keeps requests on record, or not.
func recorded(requests bool) (c driver.Config) {
	c.Requests.Record = requests
	return c
}

// accepting returns c with changed requests accepted.
func accepting(c driver.Config) driver.Config {
	c.Requests.AcceptChanged = true
	return c
}
