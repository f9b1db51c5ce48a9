package orchestrator_test

import (
	"context"
	"fmt"
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

// What surprised somebody once, and the tests that hold what is promised about it.
// "suite" is package enginetest, "sched" orchestrator/internal/sched, "kit" flowtest.
//
//	an answer on record whose call was given up   TestRecordOfACallThatWasGivenUp, TestCancelRaces
//	a host's stop is no result                    TestStopIsNoResult
//	a cancel is a record, and for good            suite Cancel, Resume; TestRunIsCanceledForGood, TestStartOutlivesItsCaller
//	words to a run that is ending                 TestWordsToARunThatIsEnding
//	timeouts, and retries within them             suite Failures; TestRetry
//	panics of agents and flows, Goexit            suite Failures, Rules; TestPanicIsNotOnRecord, TestGoexitOfAFlow, TestChildThatPanics
//	errors lose their type                        TestErrorsLoseTheirType; suite "codes of errors survive"
//	the response beside an error                  suite "a response beside an error is dropped but for its usage"
//	clock, dice, map order, captured variables    kit TestReports
//	another branch's Context, a goroutine's       suite Rules; sched TestMisuse; TestState
//	sums of money                                 TestSumsDoNotDependOnTheOrder
//	what follows the last record                  TestTailOfTheLog, TestEmit
//	coroutines, and effects of deferred functions TestCloseLeavesNoGoroutine, TestStopRunsDeferredFunctionsWithoutEffects; sched TestLeave
//	agents that do not heed their context         TestCloseTellsOfAgentsThatDoNotListen
//	large values                                  TestLargeDataIsABlob
//	versions, divergence, edited prompts          TestVersions, TestDivergence, TestEveryPartOfARequestCounts, TestAcceptedRequestsStay
//	answers before, after and beside a question   suite Questions; TestEarlyAnswerSurvives, TestLateAnswer, TestAnsweredAtTheLastMoment
//	words from another process                    TestLetters
//	a budget of 0, shares, WithBudget             TestBudgetsOfAContext, TestSplit
//	a call under way at a crash; Attempt          suite "a call under way is made again with the same key"; TestAttemptsStartAgain
//	JSON, in memory too                           suite Results; TestResponsesAreTheSameReplayed
//	several processes                             TestLeases, TestFence, TestStartAtTheSameMoment, TestResumeAtTheSameMoment
//	Expose reads, and holds up the flow           TestState
//	an agent of another framework                 TestBudgetsOfAContext
//	one flow, many runs                           TestManyRunsOfOneFlow

// plain is a store without leases and letters, so nothing ticks.
type plain struct{ *runlog.Memory }

func (plain) Beat()    {}
func (plain) Put()     {}
func (plain) Changes() {}

// listed are the runs of a Resume.
func listed(r orchestrator.Resumed, err error) ([]*orchestrator.Run, error) { return r.Runs, err }

func newPlain() plain { return plain{runlog.NewMemory()} }

// local is an engine that is closed at the end of the test.
func local(t *testing.T, c orchestrator.Config) *orchestrator.Engine {
	t.Helper()
	if c.Retry == (orchestrator.Retry{}) {
		c.Retry.Initial = time.Millisecond
	}
	e, err := orchestrator.NewLocal(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

type none struct{}

// flow is a flow without input.
func flow[Out any](name string, do func(c *orchestrator.Context) (Out, error)) orchestrator.Flow[none, Out] {
	return orchestrator.Flow[none, Out]{Name: name, Do: func(c *orchestrator.Context, _ none) (Out, error) { return do(c) }}
}

func begin[Out any](t *testing.T, e *orchestrator.Engine, f orchestrator.Flow[none, Out], id string) *orchestrator.Run {
	t.Helper()
	r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: id})
	require.NoError(t, err)
	return r
}

func ask(c *orchestrator.Context, name, prompt string) (string, error) {
	resp, err := c.Call(name, agent.Request{Prompt: prompt})
	return resp.Text, err
}

var echo = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
	return agent.Response{Text: req.Prompt}, nil
})

var hang = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, ctx.Err()
})

func logOf(t *testing.T, s runlog.Store, run string) []runlog.Record {
	t.Helper()
	var log []runlog.Record
	for rec, err := range s.Records(context.WithoutCancel(t.Context()), run, 0) {
		require.NoError(t, err)
		log = append(log, rec)
	}
	return log
}

// stored is a store with the given log, renumbered.
func stored(t *testing.T, log ...runlog.Record) plain {
	t.Helper()
	s := newPlain()
	for i, rec := range log {
		rec.Seq = int64(i)
		require.NoError(t, s.Append(t.Context(), []runlog.Record{rec}))
	}
	return s
}

func kinds(log []runlog.Record) []string {
	ks := make([]string, len(log))
	for i, rec := range log {
		ks[i] = rec.Kind
	}
	return ks
}

// An answer and the end of a question's time may both be on record.
func TestAnsweredAndExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("question", func(c *orchestrator.Context) (bool, error) {
			ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: time.Hour})
			if err != nil {
				return ok, err
			}
			_, err = ask(c, "echo", "x")
			return ok, err
		})
		agents := agent.Roster{"echo": echo}
		first := newPlain()
		r := begin(t, local(t, orchestrator.Config{Agents: agents, Store: first}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		require.NoError(t, r.Wait(t.Context()))
		log := logOf(t, first, "x")
		require.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Answered, runlog.Called, runlog.Ended}, kinds(log))

		expired := log[2]
		expired.Kind, expired.Data, expired.Branch, expired.N = runlog.Expired, nil, log[1].Branch, log[1].N
		again := stored(t, log[0], log[1], log[2], expired, log[3])
		got, err := f.Result(t.Context(), begin(t, local(t, orchestrator.Config{Agents: agents, Store: again}), f, "x"))
		require.NoError(t, err)
		assert.True(t, got)
	})
}

// An answer may be on record when the flow, which handles an earlier one, gives its
// call up. A replay drops it as the run did, and counts what it cost.
func TestRecordOfACallThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := providers.Usage{Calls: 1, Cost: 7}
		quick := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: "first", Usage: used}, nil
		})
		f := flow("hedge", func(c *orchestrator.Context) (string, error) {
			q := orchestrator.NewQueue[string](c)
			for _, name := range []string{"quick", "slow"} {
				q.Go(name, func(c *orchestrator.Context) (string, error) { return ask(c, name, "") })
			}
			first, _ := q.Next()
			q.CancelAll()
			second, _ := q.Next()
			_ = c.Sleep(time.Second)
			return fmt.Sprint(first.Value, ", ", second.Err, ", ", c.Spent().Cost), nil
		})
		c := orchestrator.Config{Agents: agent.Roster{"quick": quick, "slow": hang}}
		log := whole(t, c, f)
		require.Equal(t, []string{runlog.Started, runlog.Called, runlog.Called, runlog.Slept, runlog.Ended}, kinds(log))
		require.Equal(t, []string{"quick", "slow"}, []string{log[1].Name, log[2].Name})

		log[2].Data = log[1].Data // it came just before the flow gave it up
		got, err := again(t, c, f, log[:4])
		require.NoError(t, err)
		assert.Equal(t, "first, the flow canceled this branch, 14", got)
		log[2], log[3] = log[3], log[2] // or it comes when nobody thinks of it any more
		got, err = again(t, c, f, log[:4])
		require.NoError(t, err)
		assert.Equal(t, "first, the flow canceled this branch, 7", got)
	})
}

// A panic of flow code is a bug and no result: the run has not ended, and can be
// retried when the flow is mended.
func TestPanicIsNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		f := flow("buggy", func(c *orchestrator.Context) (string, error) {
			_, _ = ask(c, "a", "")
			panic("ouch")
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
		r := begin(t, e, f, "x")
		require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrFlow)
		assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Stuck}, kinds(logOf(t, s, "x")))
		i, err := r.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Stuck, i.Status)
	})
}

// A branch gives way only inside an effect, so a sum over branches needs no lock, and
// money is a whole number: the order of finishing does not show.
func TestSumsDoNotDependOnTheOrder(t *testing.T) {
	for order := range 4 {
		synctest.Test(t, func(t *testing.T) {
			paced := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				n := int(req.Prompt[0] - '0')
				wait := time.NewTimer(time.Duration((n*7+order*3)%5) * time.Second)
				<-wait.C
				return agent.Response{Usage: providers.Usage{Calls: 1, Cost: providers.NanoUSD(100_000_001 * (n + 1))}}, nil
			})
			f := flow("sums", func(c *orchestrator.Context) (providers.NanoUSD, error) {
				orchestrator.Map(c, []string{"0", "1", "2", "3", "4"}, 0, func(c *orchestrator.Context, item string) (string, error) { return ask(c, "a", item) })
				return c.Spent().Cost, nil
			})
			got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": paced}}), none{})
			require.NoError(t, err)
			assert.Equal(t, providers.NanoUSD(1_500_000_015), got, "15 times 100,000,001")
		})
	}
}

// An answer that comes before its question, when the process then dies, is there for
// the one that goes on.
func TestEarlyAnswerSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := newPlain(), newValve()
		f := flow("later", func(c *orchestrator.Context) (string, error) {
			if _, err := ask(c, "a", ""); err != nil {
				return "", err
			}
			return orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
		})
		c := orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		require.NoError(t, begin(t, e, f, "x").Answer(t.Context(), "name", "ann"))
		require.NoError(t, e.Close(t.Context()))
		close(v.open)
		r := begin(t, local(t, c), f, "x")
		require.ErrorIs(t, r.Answer(t.Context(), "name", "bob"), orchestrator.ErrAnswered, "the first one counts")
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "ann", got)
	})
}
