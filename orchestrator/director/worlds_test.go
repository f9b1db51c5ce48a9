package director_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

// newWorld is the world of a seed. Times are odd milliseconds, so that hardly two things
// happen at once.
func newWorld(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 2))
	span := func() time.Duration { return time.Duration(1+r.IntN(100_000_000)) * time.Microsecond }
	w := world{seed: seed, workers: 1 + r.IntN(4), attempts: 1 + r.IntN(4), conflicts: r.IntN(3), pauses: r.IntN(4), giveUp: r.IntN(2) == 0, limits: map[string]int{}}
	phases := []string{"plan", "build", "test"}
	for _, phase := range phases {
		if r.IntN(3) == 0 {
			w.limits[phase] = 1 + r.IntN(2)
		}
	}
	trouble, paths := r.IntN(3), 1+r.IntN(20)
	for i := range 1 + r.IntN(14) {
		t := worldTask{id: fmt.Sprint("t", i), phase: phases[r.IntN(3)], path: fmt.Sprintf("p%d.md", r.IntN(paths)), priority: r.IntN(3), advice: span()}
		for need := range i {
			if r.IntN(4) == 0 {
				t.needs = append(t.needs, need)
			}
		}
		for range 16 {
			end, fails := delivers, false
			if trouble > 0 && r.IntN(4) < trouble {
				end = []string{givesUp, escalated, delivers}[r.IntN(3)]
				fails = r.IntN(2) == 0
			}
			t.ends, t.fails = append(t.ends, end), append(t.fails, fails)
			t.works, t.reviews = append(t.works, span()), append(t.reviews, span())
		}
		w.tasks = append(w.tasks, t)
	}
	return w
}

// script is the world as a case of the team.
func (w world) script() script {
	const none = orchestrator.None
	s := one(nil)
	s.in.Tasks = nil
	at := map[string]worldTask{}
	for _, t := range w.tasks {
		at[t.id] = t
		d := blackboard.Definition{ID: t.id, Component: "c", Phase: t.phase, Profile: t.phase, Priority: t.priority, Criteria: []string{"c"}}
		for _, need := range t.needs {
			d.DependsOn = append(d.DependsOn, w.tasks[need].id)
		}
		s.in.Tasks = append(s.in.Tasks, d)
	}
	s.cfg.Agents = director.Agents{Director: "director", Strategist: "strategist"}
	for _, phase := range []string{"plan", "build", "test"} {
		s.cfg.Profiles = append(s.cfg.Profiles, director.Profile{ID: phase, Phases: []string{phase}, Limit: w.limits[phase]})
	}
	s.cfg.Policy.GiveUp = w.giveUp
	s.cfg.Policy.Retry = director.Retry{Attempts: w.attempts, Conflicts: orNone(w.conflicts), Replans: none, Stagnation: none, Outages: none}
	s.cfg.Bounds = director.Bounds{Parallel: w.workers, Pauses: orNone(w.pauses), TaskTime: none, Watch: director.Watch{Calls: none, Every: none, Inactivity: none}}
	s.roles = roles{
		"work": func(a asked) any {
			t := at[a.task]
			r := director.WorkerResult{Status: director.StatusComplete, ResultPath: t.path, Artifact: fmt.Sprint(t.id, " ", a.attempt)}
			switch nth(t.ends, a.attempt, delivers) {
			case givesUp:
				r = director.WorkerResult{Status: director.StatusFailed, Summary: "I cannot"}
			case escalated:
				r.Escalation = &director.EscalationRequest{Type: "NEEDS_CLARIFICATION", Reason: "why"}
			}
			return slow{nth(t.works, a.attempt, time.Second), r}
		},
		"escalate": func(a asked) any { return slow{at[a.task].advice, director.Resolution{Resolved: true}} },
		"qa": func(a asked) any {
			t, v := at[a.task], pass(a.req)
			if nth(t.fails, a.attempt, false) {
				v = fail(a.req)
			}
			return slow{nth(t.reviews, a.attempt, time.Second), v}
		},
	}
	return s
}

func orNone(n int) int {
	if n == 0 {
		return orchestrator.None
	}
	return n
}

// exactly plays a case in an engine of its own, where calls take just as long as they say.
func (s script) exactly(t *testing.T) (p played) {
	t.Helper()
	flowtest.Bubble(t, func(t *testing.T) {
		flow, in := s.flow(t)
		store, d := runlog.NewMemory(), newDiary()
		engine, err := orchestrator.NewLocal(orchestrator.Config{Store: store, Agents: s.roster(t, flow.Agents, d)})
		require.NoError(t, err)
		run, err := flow.Start(t.Context(), engine, in, orchestrator.StartOptions{})
		require.NoError(t, err)
		p.out, p.err = flow.Result(t.Context(), run)
		for rec, err := range store.Records(t.Context(), run.ID(), 0) {
			require.NoError(t, err)
			p.log = append(p.log, rec)
		}
		require.NoError(t, engine.Close(t.Context()))
		p.asked = d.all
	})
	return p
}

// fates are what became of the tasks in a run of the team.
func (p played) fates(t *testing.T, w world) (all []fate) {
	t.Helper()
	place := map[string]int{}
	for i, task := range w.tasks {
		place[task.id] = i
		got := p.task(t, task.id)
		all = append(all, fate{state: string(got.Status), attempts: got.Attempt, retries: got.RetryCount, conflict: got.ConflictCount})
	}
	for _, rec := range p.log {
		var e director.Event
		if kind := team.Kind(rec.Kind); kind != director.EventTaskMoved && kind != director.EventTaskDispatched {
			continue
		}
		require.NoError(t, json.Unmarshal(rec.Data, &e))
		f := &all[place[e.Task]]
		if team.Kind(rec.Kind) == director.EventTaskDispatched {
			f.starts = append(f.starts, rec.At.Sub(p.log[0].At))
		} else {
			f.moves = append(f.moves, fmt.Sprintf("%s>%s by %s", e.From, e.To, e.Who))
		}
	}
	return all
}

// TestWorlds plays random worlds in the team and in the second implementation: when each
// attempt begins, every move with its role, counts, states and the end are the same.
func TestWorlds(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(roundtest.Of(60, 1000)) {
		w := newWorld(seed)
		want, end := w.play()
		p := w.script().exactly(t)
		require.Equal(t, end, string(p.out.End), "seed %d: %v", seed, p.err)
		got := p.fates(t, w)
		for i := range want {
			require.Equal(t, want[i], got[i], "seed %d, task %s", seed, w.tasks[i].id)
			for _, move := range want[i].moves {
				seen[move]++
			}
			seen["conflicts"] += want[i].conflict
		}
		seen[end]++
	}
	for _, what := range []string{
		"completed", "stuck", "waiting_human", "conflicts", "BLOCKED>BLOCKED by director", "ACTIVE>WAITING_HUMAN by director", "ACTIVE>ABANDONED by director",
		"FAILED_QA>ABANDONED by director", "FAILED_QA>WAITING_HUMAN by director", "AWAITING_QA>COMPLETE by strategist",
	} {
		assert.Positive(t, seen[what], "no world has: %s", what)
	}
}
