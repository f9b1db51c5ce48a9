package delivery_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team"
)

// world is what members say in a random run: a draw for each question, in the order of questions.
type world struct {
	seed                                          uint64
	revisions, acceptable, attempts, fixes, plans int
	iterations, failedSteps, depth                int
	coverage                                      float64
	skipReview, subPlanOnFailure, zeroBased       bool
	limit, watch                                  time.Duration // 0: none
	assume                                        float64       // 0: none
	skilled                                       bool          // most work is good
}

// pace is how long the n-th call of a kind takes, and what is wrong with its answer: 0 nothing, 1
// an error, 2 it is malformed. Faults come in bursts.
func (w world) pace(kind string, n int) (takes time.Duration, fault int) {
	r := w.draw("pace "+kind, n)
	seconds := []int{1, 4, 8, 15, 30, 50, 90, 200, 290, 400}[r.IntN(7)+r.IntN(2)+r.IntN(3)]
	if takes = time.Duration(seconds)*time.Second + time.Duration(r.IntN(997))*time.Millisecond; strings.HasSuffix(kind, "plan") {
		takes /= 4 // planning has a tenth of the time
	}
	if w.draw("bad "+kind, n/5).IntN(12) == 0 && r.IntN(12) > 0 {
		fault = 1 + r.IntN(2)
	}
	return takes, fault
}

// unusable is a malformed answer of a kind.
func unusable(kind string) object {
	switch kind {
	case "plan", "subplan", "revise":
		return object{"steps": "two"}
	case "code", "fix":
		return object{"summary": "done", "files": "two"}
	case "check", "integrate":
		return object{"passed": "perhaps"}
	}
	return object{"approved": true, "score": 140}
}

// draws are the answers of one kind: the n-th is the same for both implementations.
func (w world) draw(kind string, n int) *rand.Rand {
	h := w.seed
	for _, b := range []byte(kind) {
		h = h*1099511628211 + uint64(b)
	}
	return rand.New(rand.NewPCG(h, uint64(n)))
}

// verdict is a supervisor's answer: its score, approval, evidence, critical finding, and later
// steps that it names.
type verdict struct {
	score              float64
	approved, evidence bool
	critical           bool
	revise             []int
}

func (w world) verdict(kind string, n int) verdict {
	r := w.draw("verify "+kind, n)
	if w.skilled && r.IntN(6) > 0 {
		return verdict{score: 90, approved: true, evidence: true}
	}
	v := verdict{score: []float64{90, 90, 90, 90, 80, 70, 69, 60, 59, 45, 20}[r.IntN(11)], approved: r.IntN(12) > 0, evidence: r.IntN(15) > 0, critical: r.IntN(20) == 0}
	if r.IntN(6) == 0 {
		v.revise = []int{1 + r.IntN(4)}
	}
	return v
}

func (v verdict) answer() object {
	o := object{"approved": v.approved, "score": v.score, "reason": "looked", "revise": v.revise}
	if v.evidence {
		o["evidence"] = []string{"seen"}
	}
	if v.critical {
		o["findings"] = []object{{"severity": "critical", "category": "security", "description": "open"}}
	}
	return o
}

// drawn is a step of a planner's answer.
type drawn struct {
	number int
	words  string
	needs  []int
}

func (w world) plan(kind string, n int) []drawn {
	r := w.draw(kind, n)
	count := map[string]int{"plan": 1 + r.IntN(4), "subplan": 1 + r.IntN(2), "revise": r.IntN(3)}[kind]
	first := 1
	if kind == "revise" {
		first = 2 + r.IntN(3)
	} else if w.zeroBased {
		first = 0
	}
	var steps []drawn
	for i := range count {
		s := drawn{number: first + i, words: fmt.Sprint(kind, n, "-", i)}
		if i > 0 && r.IntN(3) == 0 {
			s.needs = []int{first + r.IntN(i+1)} // itself, too
		}
		if kind == "revise" && r.IntN(3) == 0 {
			s.needs = append(s.needs, 1)
		}
		steps = append(steps, s)
	}
	return steps
}

func planned(steps []drawn) object {
	list := []object{}
	for _, s := range steps {
		list = append(list, object{"number": s.number, "description": s.words, "complexity": "simple", "dependsOn": s.needs})
	}
	return object{"steps": list}
}

// coded is a coder's answer: 0 code, 1 blocked, 2 too much, 3 code without tests.
func (w world) coded(kind string, n int) int {
	return []int{0, 0, 0, 0, 0, 0, 0, 1, 2, 3}[w.draw(kind, n).IntN(10)]
}

// report is a tester's answer: whether tests pass, and their coverage; -1: none.
func (w world) report(kind string, n int) (passes bool, coverage float64) {
	r := w.draw(kind, n)
	passes, coverage = r.IntN(5) > 0, []float64{-1, 50, 80, 95, 95, 95}[r.IntN(6)]
	return passes || w.skilled && r.IntN(3) > 0, coverage
}

func (w world) tested(kind string, n int) object {
	passes, coverage := w.report(kind, n)
	o := object{"passed": passes}
	if coverage >= 0 {
		o["coverage"] = coverage
	}
	return o
}

// random is a world of a seed.
func random(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 7))
	return world{
		seed: seed, revisions: r.IntN(3), acceptable: r.IntN(3), attempts: 1 + r.IntN(3), fixes: r.IntN(3), plans: 2 + r.IntN(2), iterations: 1 + r.IntN(3),
		failedSteps: 1 + r.IntN(3), depth: 1 + r.IntN(2), coverage: []float64{0, 0, 80}[r.IntN(3)],
		skipReview: r.IntN(4) == 0, subPlanOnFailure: r.IntN(4) == 0, zeroBased: r.IntN(4) == 0,
		limit:  []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 2 * time.Hour}[r.IntN(5)],
		watch:  []time.Duration{0, 0, time.Minute, 3 * time.Minute}[r.IntN(4)],
		assume: []float64{0, 0, 65, 75}[r.IntN(4)], skilled: r.IntN(3) > 0,
	}
}

// project is the world as a case of the real team.
func (w world) project() project {
	cfg := delivery.Config{
		Policy: delivery.Policy{
			Revisions: w.revisions, AcceptableFailures: w.acceptable, SkipTestReview: w.skipReview, SubPlanOnTestFailure: w.subPlanOnFailure,
			Thresholds: delivery.Thresholds{Coverage: w.coverage}, MonitorEvery: w.watch,
		},
		Bounds: delivery.Bounds{FailedSteps: w.failedSteps, Depth: w.depth, MinSteps: 1, MaxSteps: 6},
		Limits: team.Limits{Time: cmp.Or(w.limit, orchestrator.None)},
		Rules: delivery.Rules{Retrier: delivery.Retries{
			Step: orchestrator.Attempts{Max: w.attempts}, Fix: orchestrator.Attempts{Max: w.fixes + 1}, Plan: orchestrator.Attempts{Max: w.plans},
			Iteration: orchestrator.Attempts{Max: w.iterations},
		}},
	}
	if w.assume > 0 {
		cfg.Policy.AssumeScore = &w.assume
	}
	return project{cfg: cfg}
}

// say answers a request of the real team, the n-th of its kind.
func (w world) say(kind string, n int) object {
	gate, isVerdict := strings.CutPrefix(kind, "verify ")
	switch {
	case isVerdict:
		return w.verdict(gate, n).answer()
	case kind == "code" || kind == "fix":
		return []object{code(), blocked, tooMuch, {"summary": "done", "files": []object{{"path": "a.go", "content": "x"}}}}[w.coded(kind, n)]
	case kind == "check" || kind == "integrate":
		return w.tested(kind, n)
	}
	return planned(w.plan(kind, n))
}

// member answers the calls of the real team; calls counts them.
func (w world) member(calls map[string]int) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		kind := kindOf(req)
		n := calls[kind]
		calls[kind]++
		takes, fault := w.pace(kind, n)
		select {
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		case <-time.After(takes):
		}
		switch fault {
		case 1:
			return agent.Response{}, errBoom
		case 2:
			return agent.Response{Data: agent.JSON(unusable(kind))}, nil
		}
		return agent.Response{Data: agent.JSON(w.say(kind, n))}, nil
	}
}

// run plays the world with the real team, from a state if there is one.
func (w world) run(t *testing.T, from *delivery.State, calls map[string]int) (out delivery.Outcome) {
	t.Helper()
	p := w.project()
	p.in.From = from
	flow, in := p.flow(t)
	role := w.member(calls)
	synctest.Test(t, func(t *testing.T) {
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"planner": role, "coder": role, "tester": role, "supervisor": role}})
		require.NoError(t, err)
		out, _ = flow.Run(t.Context(), e, in)
		require.NoError(t, e.Close(context.WithoutCancel(t.Context())))
	})
	return out
}

// told is what the real team's outcome says of what is imagined.
func told(out delivery.Outcome, calls map[string]int) imagined {
	got := imagined{
		calls: calls, end: string(out.State.Status), status: out.Status, metrics: out.State.Metrics, iteration: out.State.Iteration,
		unverified: out.Unverified, elapsed: out.Elapsed,
	}
	for _, h := range out.State.EventLog {
		got.said = append(got.said, h.Message+" "+h.Target)
	}
	for _, v := range out.Report.Verdicts {
		got.levels = append(got.levels, v.Level)
	}
	return got
}

func TestModel(t *testing.T) {
	ends := map[string]int{}
	for seed := range roundtest.Of(60, 1000) {
		w := random(uint64(seed))
		d, calls := newDumb(w), map[string]int{}
		for from := (*delivery.State)(nil); ; {
			want := d.play()
			out := w.run(t, from, calls)
			got := told(out, calls)
			want.said = want.said[max(0, len(want.said)-1000):]
			require.Equal(t, want.said, got.said, "messages of world %d, continued: %v: %+v", seed, from != nil, w)
			require.Equal(t, want, got, "world %d, continued: %v: %+v", seed, from != nil, w)
			ends[got.end]++
			ends["unverified"] += min(1, len(got.unverified))
			if got.end != "time_expired" || from != nil {
				break
			}
			from = &out.State
			d.goOn()
			ends["continued"]++
		}
		for _, kind := range []string{"revise", "subplan", "verify monitor"} {
			ends[kind] += min(1, calls[kind])
		}
	}
	if !roundtest.All() { // too few for all of these
		return
	}
	for _, end := range []string{"completed", "failed", "aborted", "time_expired", "continued", "unverified", "revise", "subplan", "verify monitor"} {
		require.NotZero(t, ends[end], "no world with this: %s", end)
	}
}
