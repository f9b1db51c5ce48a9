package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// whole is the log of a run of f that ended.
func whole[Out any](t *testing.T, c orchestrator.Config, f orchestrator.Flow[none, Out]) []runlog.Record {
	t.Helper()
	s := newPlain()
	c.Store = s
	require.NoError(t, begin(t, local(t, c), f, "x").Wait(t.Context()))
	return logOf(t, s, "x")
}

// again goes on from a log with agents that must not be called.
func again[Out any](t *testing.T, c orchestrator.Config, f orchestrator.Flow[none, Out], log []runlog.Record) (Out, error) {
	t.Helper()
	deaf := agent.Roster{}
	for name := range c.Agents {
		deaf[name] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			t.Errorf("agent %q was called", name)
			return agent.Response{}, errors.New("deaf")
		})
	}
	c.Agents, c.Store = deaf, stored(t, log...)
	return f.Result(t.Context(), begin(t, local(t, c), f, "x"))
}

// draft calls a, says so, sleeps, and calls b.
func draft(c *orchestrator.Context) (string, error) {
	first, err := ask(c, "a", "one")
	if err != nil {
		return "", err
	}
	c.Emit("step", first)
	if err := c.Sleep(time.Minute); err != nil {
		return "", err
	}
	return ask(c, "b", first+" two")
}

func TestDivergence(t *testing.T) {
	tests := []struct {
		name  string
		do    func(c *orchestrator.Context) (string, error)
		wants []string // of the error
	}{
		{"changed prompt", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "uno") }, []string{`effect 0 (a)`, `the request to "a" differs`}},
		{"other agent", func(c *orchestrator.Context) (string, error) { return ask(c, "b", "one") }, []string{`effect 0 (a)`, `a call of agent "b"`}},
		{"other kind", func(c *orchestrator.Context) (string, error) { return "", c.Sleep(time.Hour) }, []string{`effect 0 (a)`, `a sleep`}},
		{"removed call", func(c *orchestrator.Context) (string, error) {
			first, _ := ask(c, "a", "one")
			c.Emit("step", first)
			return ask(c, "b", first+" two")
		}, []string{`"slept" of effect 1`, `a call of agent "b"`}},
		{"added call", func(c *orchestrator.Context) (string, error) {
			_, _ = ask(c, "b", "zero")
			return draft(c)
		}, []string{`effect 0 (a)`, `a call of agent "b"`}},
		{"ended early", func(c *orchestrator.Context) (string, error) {
			first, err := ask(c, "a", "one")
			c.Emit("step", first)
			return first, err
		}, []string{`"slept" of effect 1`, `the flow ended before it`}},
		{"moved into a branch", func(c *orchestrator.Context) (string, error) {
			q := orchestrator.NewQueue[string](c)
			q.Go("x", draft)
			r, _ := q.Next()
			return r.Value, r.Err
		}, []string{`effect 0 (a)`, `the flow did not ask for it`}},
		{"removed emission", func(c *orchestrator.Context) (string, error) {
			first, _ := ask(c, "a", "one")
			_ = c.Sleep(time.Minute)
			return ask(c, "b", first+" two")
		}, []string{`"step"`, `did not do again`}},
		{"other emission", func(c *orchestrator.Context) (string, error) {
			first, _ := ask(c, "a", "one")
			c.Emit("stop", first)
			_ = c.Sleep(time.Minute)
			return ask(c, "b", first+" two")
		}, []string{`"step"`, `did not do again`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := orchestrator.Config{Agents: agent.Roster{"a": echo, "b": echo}}
				log := whole(t, c, flow("draft", draft))
				log = log[:len(log)-2] // b was under way
				_, err := again(t, c, flow("draft", tt.do), log)
				require.ErrorIs(t, err, orchestrator.ErrDiverged)
				for _, want := range tt.wants {
					assert.ErrorContains(t, err, want)
				}
			})
		})
	}
}

func TestDivergedRunIsLeftAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := orchestrator.Config{Agents: agent.Roster{"a": echo, "b": echo}}
		log := whole(t, c, flow("draft", draft))
		c.Store = stored(t, log[:len(log)-2]...)
		other := begin(t, local(t, c), flow("draft", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "uno") }), "x")
		require.ErrorIs(t, other.Wait(t.Context()), orchestrator.ErrDiverged)
		got, err := flow("draft", draft).Result(t.Context(), begin(t, local(t, c), flow("draft", draft), "x"))
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
	})
}

func TestVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := flow("draft", draft), flow("draft", draft)
		two.Version = 2
		agents := agent.Roster{"a": echo, "b": echo}
		log := whole(t, orchestrator.Config{Agents: agents}, one)
		cut := log[:len(log)-2]

		t.Log("only another version is here")
		e := local(t, orchestrator.Config{Agents: agents, Store: stored(t, cut...), Flows: []orchestrator.AnyFlow{two}})
		runs, err := listed(e.Resume(t.Context()))
		require.ErrorIs(t, err, orchestrator.ErrDiverged)
		require.ErrorContains(t, err, `run "x"`)
		require.ErrorContains(t, err, "version 0")
		assert.Empty(t, runs)
		_, err = two.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x"})
		require.ErrorIs(t, err, orchestrator.ErrDiverged)

		t.Log("both are here")
		e = local(t, orchestrator.Config{Agents: agents, Store: stored(t, cut...), Flows: []orchestrator.AnyFlow{two, one}})
		runs, err = listed(e.Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		require.NoError(t, runs[0].Wait(t.Context()))
	})
}

func TestAcceptChangedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := orchestrator.Config{Agents: agent.Roster{"a": echo, "b": echo}, Requests: orchestrator.Requests{AcceptChanged: true}}
		log := whole(t, c, flow("draft", draft))
		edited := flow("draft", func(c *orchestrator.Context) (string, error) {
			first, _ := ask(c, "a", "uno")
			c.Emit("step", first)
			_ = c.Sleep(time.Minute)
			return ask(c, "b", first+" due")
		})
		c.Store = stored(t, log[:len(log)-2]...)
		c.Agents["b"] = hang
		for range 2 {
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, e, edited, "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
		}
		c.Agents["b"] = echo
		got, err := edited.Result(t.Context(), begin(t, local(t, c), edited, "x"))
		require.NoError(t, err)
		assert.Equal(t, "one due", got, "the recorded answer is used, what is new is asked in the new words")
		var changed []string
		for _, rec := range logOf(t, c.Store, "x") {
			if rec.Kind == runlog.Changed {
				changed = append(changed, rec.Name)
			}
		}
		assert.Equal(t, []string{"a"}, changed, "once, however often the run is resumed")

		t.Log("changed back, it is still accepted without another record")
		log = logOf(t, c.Store, "x")
		back, err := again(t, c, flow("draft", func(c *orchestrator.Context) (string, error) {
			first, _ := ask(c, "a", "one")
			c.Emit("step", first)
			_ = c.Sleep(time.Minute)
			return ask(c, "b", first+" due")
		}), log[:len(log)-1])
		require.NoError(t, err)
		assert.Equal(t, "one due", back)
	})
}

// What was accepted once is what was asked: it needs no second permission.
func TestAcceptedRequestsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		talk := func(prompt string) orchestrator.Flow[none, string] {
			return flow("talk", func(c *orchestrator.Context) (string, error) {
				if _, err := ask(c, "a", prompt); err != nil {
					return "", err
				}
				return ask(c, "b", "more")
			})
		}
		c := orchestrator.Config{Agents: agent.Roster{"a": echo, "b": hang}, Store: newPlain()}
		for _, step := range []struct {
			prompt string
			accept bool
		}{{"one", false}, {"uno", true}} {
			c.Requests.AcceptChanged = step.accept
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, e, talk(step.prompt), "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
		}
		c.Requests.AcceptChanged = false
		require.ErrorIs(t, begin(t, local(t, c), talk("eins"), "x").Wait(t.Context()), orchestrator.ErrDiverged, "a third wording was not accepted")
		c.Agents["b"] = echo
		require.NoError(t, begin(t, local(t, c), talk("uno"), "x").Wait(t.Context()))
	})
}

// The clock of a machine may be set back; that of a run is not.
func TestClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("clock", func(c *orchestrator.Context) (bool, error) {
			forward := true
			for range 2 {
				now, worked := c.Now(), c.Elapsed()
				if err := c.Sleep(time.Minute); err != nil {
					return false, err
				}
				forward = forward && !c.Now().Before(now) && c.Elapsed() >= worked
			}
			return forward, nil
		})
		log := whole(t, orchestrator.Config{}, f)
		log[2].At = log[0].At.Add(-time.Hour)
		got, err := again(t, orchestrator.Config{}, f, log[:3])
		require.NoError(t, err)
		assert.True(t, got)
	})
}

func TestRecordRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Requests: orchestrator.Requests{Record: true}}
		talk := func(prompt string) orchestrator.Flow[none, string] {
			return flow("talk", func(c *orchestrator.Context) (string, error) {
				history := []providers.Message{{Role: providers.User, Text: "hi"}, {Role: providers.Assistant, Text: "yes?"}}
				_, _ = c.Call("a", agent.Request{Prompt: prompt, History: history})
				_, _ = c.Call("a", agent.Request{Prompt: "more", History: history})
				return "", c.Sleep(time.Hour)
			})
		}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, talk("first words"), "x")
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))

		blobs := 0
		for _, err := range s.BlobsOf(t.Context(), "x") {
			require.NoError(t, err)
			blobs++
		}
		assert.Equal(t, 4, blobs, "two requests and each message of the history once")
		err = begin(t, local(t, c), talk("other words"), "x").Wait(t.Context())
		require.ErrorIs(t, err, orchestrator.ErrDiverged)
		require.ErrorContains(t, err, "first words")
		require.ErrorContains(t, err, "other words")
	})
}

func TestLimitsMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := func(l agent.Limits) orchestrator.Flow[none, string] {
			return flow("limits", func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("a", agent.Request{Prompt: "x", Limits: l})
				return resp.Text, err
			})
		}
		c := orchestrator.Config{Agents: agent.Roster{"a": echo}}
		log := whole(t, c, limited(agent.Limits{Attempts: 1}))
		got, err := again(t, c, limited(agent.Limits{Attempts: 2, Timeout: time.Hour}), log[:len(log)-1])
		require.NoError(t, err)
		assert.Equal(t, "x", got)
	})
}

// What an agent gave must be the same to the flow now and when it is replayed, or
// the next request would differ.
func TestResponsesAreTheSameReplayed(t *testing.T) {
	answers := map[string]agent.Func{
		"text for HTML": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: "<a & b>\u2028"}, nil
		},
		"invalid UTF-8": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: "a\xff\xfeb"}, nil
		},
		"data for HTML": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Data: json.RawMessage(`{"a":"<b> & \u2028"}`)}, nil
		},
		"data with space": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Data: json.RawMessage("{ \"a\" :\n [1,  2] }")}, nil
		},
		"data with a large number": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Data: json.RawMessage("12345678901234567890.10")}, nil
		},
		"messages": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Messages: []providers.Message{{Role: providers.Assistant, Text: "\xff", ToolCalls: []providers.ToolCall{{Input: json.RawMessage(`{ }`)}}}}}, nil
		},
		"error": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{}, agent.Transient(fmt.Errorf("<no>: %w", agent.Code("acme/no")), time.Second)
		},
		"error that is invalid UTF-8": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{}, errors.New("a\xffb")
		},
		"error of another form": func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{}, &agent.Error{Message: "\xff", Codes: []agent.Code{"a\xff"}}
		},
		"panic": func(context.Context, agent.Request) (agent.Response, error) { panic("ouch") },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := flow("echoes", func(c *orchestrator.Context) (string, error) {
					resp, err := c.Call("a", agent.Request{})
					c.Emit("seen", resp)
					_, _ = c.Call("echo", agent.Request{Prompt: resp.Text + fmt.Sprint(err, c.Elapsed(), c.Now()), Input: resp.Data, History: resp.Messages})
					return "", nil
				})
				c := orchestrator.Config{Agents: agent.Roster{"a": answer, "echo": echo}}
				log := whole(t, c, f)
				_, err := again(t, c, f, log[:len(log)-1])
				require.NoError(t, err)
			})
		})
	}
}

func TestLargeDataIsABlob(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes int
		blob  bool
	}{
		{"small", 60 << 10, false},
		{"large", 64 << 10, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := strings.Repeat("x", tt.bytes)
				f := flow("large", func(c *orchestrator.Context) (string, error) {
					said, err := ask(c, "a", "")
					c.Emit("said", said)
					return said, err
				})
				c := orchestrator.Config{Agents: agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
					return agent.Response{Text: text}, nil
				})}}
				s := newPlain()
				c.Store = s
				r := begin(t, local(t, c), f, "x")
				require.NoError(t, r.Wait(t.Context()))
				for _, rec := range logOf(t, s, "x")[1:3] {
					assert.Equal(t, tt.blob, rec.Blob != "", "the value of %s is beside the log", rec.Kind)
					assert.Equal(t, tt.blob, len(rec.Data) < 100, "the log has the figures of %s", rec.Kind)
				}
				for rec, err := range r.Events(t.Context(), 1) {
					require.NoError(t, err)
					assert.Empty(t, rec.Blob)
					assert.Contains(t, string(rec.Data), text, "%s reads back", rec.Kind)
				}

				c.Agents = agent.Roster{"a": hang} // it is not called again
				last := logOf(t, s, "x")
				cut := newPlain()
				for blob, err := range s.BlobsOf(t.Context(), "x") {
					require.NoError(t, err)
					_, err = cut.PutBlob(t.Context(), "x", blob)
					require.NoError(t, err)
				}
				require.NoError(t, cut.Append(t.Context(), last[:2]))
				c.Store = cut
				got, err := f.Result(t.Context(), begin(t, local(t, c), f, "x"))
				require.NoError(t, err)
				assert.Equal(t, text, got)
			})
		})
	}
}

func TestTailOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := orchestrator.Config{Agents: agent.Roster{"a": echo}}
		f := flow("tail", func(c *orchestrator.Context) (bool, error) {
			_, _ = ask(c, "a", "x")
			c.Emit("step", nil)
			return orchestrator.Await[bool](c, orchestrator.Question{Key: "ok"})
		})
		s := newPlain()
		c.Store = s
		r := begin(t, local(t, c), f, "x")
		require.NoError(t, r.AnswerWith(t.Context(), "ok", true, early))
		require.NoError(t, r.Wait(t.Context()))
		log := logOf(t, s, "x")
		var called []runlog.Record
		for _, rec := range log {
			if rec.Kind == runlog.Started || rec.Kind == runlog.Called {
				called = append(called, rec)
			}
		}
		c.Store = stored(t, called...) // the process died behind the call
		r = begin(t, local(t, c), f, "x")
		synctest.Wait()
		assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Resumed, "step", runlog.Asked}, kinds(logOf(t, c.Store, "x")),
			"what follows the last record is emitted after a crash, and asked")
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		require.NoError(t, r.Wait(t.Context()))
	})
}

// Whatever is first, a completion or a cancel, a replay finds it the same.
func TestCancelRaces(t *testing.T) {
	for seed := range 30 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
					wait := time.NewTimer(time.Duration(len(req.Prompt)%3) * time.Second)
					defer wait.Stop()
					select {
					case <-wait.C:
					case <-ctx.Done():
						return agent.Response{}, ctx.Err()
					}
					return agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1, Cost: 1}}, nil
				})
				f := flow("race", func(c *orchestrator.Context) ([]string, error) {
					q := orchestrator.NewQueue[string](c)
					for i := range 6 {
						q.Go(fmt.Sprint(i), func(c *orchestrator.Context) (string, error) {
							text, err := ask(c, "a", strings.Repeat("x", i+seed))
							if err == nil {
								err = c.Sleep(time.Second)
							}
							return text, err
						})
					}
					var got []string
					for r, ok := q.Next(); ok; r, ok = q.Next() {
						got = append(got, fmt.Sprint(r.Key, r.Err != nil))
						q.Cancel(fmt.Sprint((seed + len(got)) % 6))
					}
					return got, nil
				})
				c := orchestrator.Config{Agents: agent.Roster{"a": slow}}
				s := newPlain()
				c.Store = s
				r := begin(t, local(t, c), f, "x")
				var host sync.WaitGroup
				host.Go(func() {
					wait := time.NewTimer(time.Duration(seed%4) * time.Second)
					<-wait.C
					assert.NoError(t, r.Cancel(context.WithoutCancel(t.Context()), "race"))
				})
				want, _ := f.Result(t.Context(), r)
				host.Wait()
				log := logOf(t, s, "x")
				require.Equal(t, runlog.Ended, log[len(log)-1].Kind)
				got, err := again(t, c, f, log[:len(log)-1])
				if err != nil {
					require.ErrorIs(t, err, orchestrator.ErrCanceled)
				}
				assert.Equal(t, want, got)
			})
		})
	}
}

func TestStopIsNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		f := flow("stop", func(c *orchestrator.Context) (string, error) { return ask(c, "hang", "") })
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"hang": hang}, Store: s})
		require.NoError(t, err)
		begin(t, e, f, "x")
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		assert.Equal(t, []string{runlog.Started, runlog.Used}, kinds(logOf(t, s, "x")), "of what agents return because the host stops, only what they used is recorded")
	})
}

func TestTwoHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int64
		flaky := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			if attempts.Add(1) == 1 {
				return hang(ctx, req)
			}
			if attempts.Load() <= 3 {
				return agent.Response{}, agent.Transient(errors.New("busy"), 5*time.Minute)
			}
			return agent.Response{Text: "done"}, nil
		})
		f := flow("long", func(c *orchestrator.Context) (time.Duration, error) {
			if err := c.Sleep(time.Hour); err != nil {
				return 0, err
			}
			if _, err := c.Call("flaky", agent.Request{Limits: agent.Limits{Timeout: 30 * time.Minute}}); err != nil {
				return 0, err
			}
			if _, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: 20 * time.Minute}); !errors.Is(err, orchestrator.ErrTimeout) {
				return 0, err
			}
			return c.Elapsed().Truncate(time.Minute), nil
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"flaky": flaky}, Store: newPlain()}), none{})
		require.NoError(t, err)
		assert.Equal(t, 2*time.Hour, got, "1 h asleep, 30 min hanging, two waits of 5 min, 20 min asking")
	})
}

func TestDowntimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("down", func(c *orchestrator.Context) (time.Duration, error) {
			_ = c.Sleep(time.Minute)
			_, err := ask(c.WithBudget(orchestrator.Budget{Wall: time.Hour}), "a", "")
			return c.Elapsed(), err
		})
		s := newPlain()
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
		require.NoError(t, err)
		begin(t, e, f, "x")
		night := time.NewTimer(time.Minute + time.Second)
		<-night.C
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		night.Reset(12 * time.Hour)
		<-night.C
		slow := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			wait := time.NewTimer(30 * time.Minute)
			defer wait.Stop()
			select {
			case <-wait.C:
				return agent.Response{}, nil
			case <-ctx.Done():
				return agent.Response{}, ctx.Err()
			}
		})
		got, err := f.Result(t.Context(), begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": slow}, Store: s}), f, "x"))
		require.NoError(t, err)
		assert.Equal(t, 31*time.Minute+time.Second, got, "a minute, a second until Close, half an hour")
	})
}
