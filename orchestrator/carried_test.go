package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
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
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// withoutFigures is a driver that leaves the figures out.
type withoutFigures struct{ engine.Driver }

func (d withoutFigures) Look(ctx context.Context, id string) (engine.View, error) {
	v, err := d.Driver.Look(ctx, id)
	return engine.View{Listing: v.Listing, Status: v.Status, Questions: v.Questions}, err
}

// A driver that leaves the figures out has its logs read.
func TestInfoOfADriverWithoutFigures(t *testing.T) {
	everywhere(t, "open and ended", func(t *testing.T, s runlog.Store) {
		used := providers.Usage{Calls: 1, Cost: 7}
		f := flow("asks", func(c *orchestrator.Context) (ranked, error) {
			_, err := c.Call("a", agent.Request{})
			if err == nil {
				_, err = orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			}
			return ranked{Outcome: orchestrator.Outcome{Status: orchestrator.Partial}}, err
		})
		plain := local(t, orchestrator.Config{Store: s, Agents: agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Usage: used}, nil
		})}})
		e := orchestrator.NewEngine(withoutFigures{orchestrator.DriverOf(plain)})
		r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", ContinuedFrom: "w"})
		require.NoError(t, err)
		synctest.Wait()
		same := func() orchestrator.Info {
			want, got := infoOf(t, open(t, plain, "x")), infoOf(t, r)
			require.Equal(t, want, got)
			require.Equal(t, figures{used, orchestrator.Lost{}, map[string]providers.Usage{"a": used}, "w"}, figuresOf(&got))
			return got
		}
		assert.Nil(t, same().Outcome)
		require.NoError(t, r.Answer(t.Context(), "n", 1))
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, orchestrator.Partial, same().Outcome.Status)
	})
}

// ranked is an output with an Outcome.
type ranked struct{ orchestrator.Outcome }

// older takes out of a log what older versions did not write.
func older(t *testing.T, log []runlog.Record) []runlog.Record {
	t.Helper()
	taken := 0
	for i := range log {
		var d map[string]json.RawMessage
		if len(log[i].Data) == 0 || json.Unmarshal(log[i].Data, &d) != nil {
			continue
		}
		for _, field := range []string{"tally", "byAgent"} {
			if _, ok := d[field]; ok {
				delete(d, field)
				taken++
			}
		}
		if log[i].Kind == runlog.Ended {
			delete(d, "continuedFrom")
		}
		var err error
		log[i].Data, err = json.Marshal(d)
		require.NoError(t, err)
	}
	require.Positive(t, taken)
	return log
}

// Logs of older versions are read as a whole.
func TestInfoOfOlderLogs(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		f := flow("wild", func(c *orchestrator.Context) ([]string, error) {
			out := []string{}
			for seed := range uint64(30) {
				wild(c, rand.New(rand.NewPCG(seed, 7)), 1, &out)
			}
			return out, nil
		})
		s := newPlain()
		c := orchestrator.Config{Store: s, Agents: wildAgents(), Flows: []orchestrator.AnyFlow{f, wildChild}}
		r, err := f.Start(t.Context(), local(t, c), none{}, orchestrator.StartOptions{ID: "x", ContinuedFrom: "w"})
		require.NoError(t, err)
		require.NoError(t, r.Wait(t.Context()))
		log := older(t, logOf(t, s, "x"))
		require.Greater(t, len(log), 130)
		for _, n := range []int{len(log), len(log) - 1, 129, 128, 127, 1} {
			c.Store = stored(t, log[:n]...)
			info := infoOf(t, open(t, local(t, c), "x"))
			want := folded(t, log[:n])
			require.Equal(t, want, figuresOf(&info), "%d records", n)
		}
		pause(time.Hour)
	})
}

// A stuck run that is canceled ends with all that its log has: what was lost, too.
func TestFiguresOfACanceledStuckRun(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		used := providers.Usage{Calls: 1, Cost: 7}
		s, broken := runlog.NewMemory(), false
		f := flow("breaks", func(c *orchestrator.Context) (none, error) {
			_, _ = c.Call("priced", agent.Request{})
			_, _ = c.Call("a", agent.Request{Limits: agent.Limits{Estimate: 5}})
			if broken {
				panic("no")
			}
			return none{}, nil
		})
		priced := agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Usage: used}, nil })
		c := orchestrator.Config{Agents: agent.Roster{"priced": priced, "a": hang}, Flows: []orchestrator.AnyFlow{f}, Fleet: lease}
		m := newMortal(t, s, c)
		_, err := f.Start(t.Context(), m.Engine, none{}, orchestrator.StartOptions{ID: "x", ContinuedFrom: "w", Budget: orchestrator.Budget{Cost: 100}})
		require.NoError(t, err)
		synctest.Wait()
		m.kill()
		broken, c.Store, c.Agents = true, s, agent.Roster{"priced": priced, "a": echo}
		e := local(t, c)
		_, err = e.Resume(t.Context())
		require.NoError(t, err)
		pause(2 * time.Minute)
		r := open(t, e, "x")
		again := providers.Usage{Calls: 1}
		want := figures{used.Add(again), orchestrator.Lost{Calls: 1, Cost: 5}, map[string]providers.Usage{"priced": used, "a": again}, "w"}
		stuck := infoOf(t, r)
		require.Equal(t, orchestrator.Stuck, stuck.Status)
		require.Equal(t, want, figuresOf(&stuck))
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		ended := infoOf(t, r)
		require.Equal(t, orchestrator.Canceled, ended.Status)
		require.Equal(t, want, figuresOf(&ended))
	})
}

// A flow of nothing but children, or of nothing but sleeps, is not read as a whole either;
// nor is a call whose answer is kept beside the log read for its figures.
func TestFiguresAreCarried(t *testing.T) {
	kid := flow("kid", func(c *orchestrator.Context) (none, error) {
		_, err := c.Call("a", agent.Request{})
		return none{}, err
	})
	for name, step := range map[string]func(c *orchestrator.Context) error{
		"by children": func(c *orchestrator.Context) error { _, err := kid.Child(c, none{}); return err },
		"by sleeps":   func(c *orchestrator.Context) error { return c.Sleep(time.Second) },
		"by failures": func(c *orchestrator.Context) error { _, _ = c.Call("fails", agent.Request{}); return nil },
		"by large":    func(c *orchestrator.Context) error { _, err := c.Call("large", agent.Request{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				t.Helper()
				f := flow("steps", func(c *orchestrator.Context) (none, error) {
					for range 300 {
						if err := step(c); err != nil {
							return none{}, err
						}
					}
					_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
					return none{}, err
				})
				s := &yielding{Memory: runlog.NewMemory()}
				used := providers.Usage{Calls: 1, Cost: 7}
				says := func(text string, err error) agent.Agent {
					return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
						return agent.Response{Text: text, Usage: used}, err
					})
				}
				c := orchestrator.Config{
					Agents: agent.Roster{"a": says("", nil), "fails": says("", errors.New("no")), "large": says(strings.Repeat("x", 64<<10), nil)}, Fleet: lease,
					Flows: []orchestrator.AnyFlow{f}, Store: s, Retry: orchestrator.Attempts{Max: 1},
				}
				begin(t, local(t, c), f, "x")
				pause(time.Hour)
				observer := local(t, orchestrator.Config{Store: blobless{s}, Fleet: observing})
				s.yielded.Store(0)
				info := infoOf(t, open(t, observer, "x"))
				assert.LessOrEqual(t, s.yielded.Load(), int64(128))
				require.Equal(t, folded(t, allOf(t, s, logOf(t, s, "x"))), figuresOf(&info))
			})
		})
	}
}

// blobless is a store whose blobs cannot be read.
type blobless struct{ *yielding }

func (blobless) Blob(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("blobs are not to be read")
}

// allOf returns records with the data that is kept beside them.
func allOf(t *testing.T, s runlog.Blobs, log []runlog.Record) []runlog.Record {
	t.Helper()
	for i, rec := range log {
		if rec.Blob != "" {
			data, err := s.Blob(t.Context(), rec.Run, rec.Blob)
			require.NoError(t, err)
			log[i].Data = data
		}
	}
	return log
}

// Whoever asks twice is told the same, also where the last record is that of a call.
func TestFiguresAreCountedOnce(t *testing.T) {
	everywhere(t, "by two looks", func(t *testing.T, s runlog.Store) {
		f := flow("calls", func(c *orchestrator.Context) (none, error) {
			_, _ = c.Call("a", agent.Request{})
			_, err := c.Call("hang", agent.Request{})
			return none{}, err
		})
		r := begin(t, local(t, orchestrator.Config{Store: s, Agents: agent.Roster{"a": echo, "hang": hang}}), f, "x")
		synctest.Wait()
		for range 3 {
			require.Equal(t, int64(1), infoOf(t, r).Spent.Calls)
		}
	})
}
