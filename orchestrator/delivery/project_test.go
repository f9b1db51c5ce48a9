package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

// folder is a workspace in memory. Its tests pass unless a file has the word BUG.
type folder struct {
	mu     sync.Mutex
	files  map[string]string
	states map[string]map[string]string
	ops    []string
	wrote  [][]delivery.File         // by each apply
	runs   map[string]bool           // that were named
	done   map[string]agent.Response // by key
	fails  map[string]error          // by op
	most   map[string]int            // how often, by op; 0: always

	coverage float64 // percent that a run reports; 0: none
}

func newFolder() *folder {
	return &folder{files: map[string]string{}, states: map[string]map[string]string{}, done: map[string]agent.Response{}, fails: map[string]error{}, most: map[string]int{}, runs: map[string]bool{}}
}

func (f *folder) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := agent.InfoFrom(ctx).Key
	if resp, ok := f.done[key]; ok {
		return resp, nil
	}
	f.ops, f.runs[req.Prompt] = append(f.ops, req.Op), true
	if err := f.fails[req.Op]; err != nil {
		if f.most[req.Op]--; f.most[req.Op] == 0 {
			delete(f.fails, req.Op)
		}
		return agent.Response{}, err
	}
	var answer any = struct{}{}
	switch req.Op {
	case delivery.OpSnapshot:
		id := string(agent.JSON(f.files))
		f.states[id] = maps.Clone(f.files)
		answer = delivery.Snapshot{ID: id, Diff: "+"}
	case delivery.OpApply:
		var in delivery.ApplyRequest
		if err := json.Unmarshal(req.Input, &in); err != nil {
			return agent.Response{}, err
		}
		f.wrote = append(f.wrote, in.Files)
		for _, file := range in.Files {
			if strings.HasPrefix(file.Path, "/") {
				return agent.Response{}, fmt.Errorf("files %q: %w", file.Path, delivery.ErrUnsafePath)
			}
			f.files[file.Path] = file.Content
		}
	case delivery.OpTest:
		res := delivery.TestResult{Kind: delivery.RealRun, Passed: true, Ran: len(f.files)}
		for path, content := range f.files {
			if strings.Contains(content, "BUG") {
				res.Passed, res.Output, res.Reason = false, "--- FAIL in "+path, "a test failed"
			}
		}
		if f.coverage > 0 {
			res.Coverage = &f.coverage
		}
		answer = res
	case delivery.OpRestore:
		var in delivery.Snapshot
		if err := json.Unmarshal(req.Input, &in); err != nil {
			return agent.Response{}, err
		}
		state, ok := f.states[in.ID]
		if !ok {
			return agent.Response{}, errors.New("no such state")
		}
		f.files = maps.Clone(state)
	}
	resp := agent.Response{Data: agent.JSON(answer)}
	f.done[key] = resp
	return resp, nil
}

// writes is a coder's answer with one file, and a test of it.
func writes(path, content string) object {
	return object{"summary": "wrote " + path, "files": []object{{"path": path, "content": content}}, "tests": []object{{"path": path + "_test", "content": "test"}}}
}

// sinceFails is a workspace that cannot store the state behind a step; nil: it hangs then.
func sinceFails(f *folder, err error) agent.Agent {
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		var in delivery.SnapshotRequest
		if req.Op != delivery.OpSnapshot || json.Unmarshal(req.Input, &in) != nil || in.Since == "" {
			return f.Call(ctx, req)
		}
		if err == nil {
			<-ctx.Done()
			return agent.Response{}, ctx.Err()
		}
		return agent.Response{}, err
	})
}

func TestProject(t *testing.T) {
	t.Run("SC57 SX8 accepted steps stay", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cast: map[string][]any{"code": {writes("a", "1"), writes("b", "2")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, map[string]string{"a": "1", "a_test": "test", "b": "2", "b_test": "test"}, f.files)
		assert.Equal(t, []string{"snapshot", "apply", "test", "snapshot", "snapshot", "apply", "test", "snapshot", "test"}, f.ops)
		assert.Equal(t, 15, p.asked.total(), "the workspace is not counted")
		assert.Equal(t, map[string]bool{"for the run that began at " + p.out.State.StartTime.Format(time.RFC3339Nano): true}, f.runs, "SC46")
		require.NotNil(t, input[delivery.TestInput](t, p.asked["check"][0]).Run, "S56")
		assert.Contains(t, p.asked["check"][0].Prompt, "really did")
	})
	t.Run("SX9 SC52 a real run overrides the tester", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cast: map[string][]any{"code": {writes("a", "BUG")}, "fix": {object{"summary": "fixed", "files": []object{{"path": "a", "content": "ok"}}}}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.out.State.Metrics.FixCycles)
		fix := input[delivery.CodeInput](t, p.asked["fix"][0]).Fix
		assert.Equal(t, []string{"Make the tests pass. --- FAIL in a"}, fix.Items)
		assert.Equal(t, "--- FAIL in a", fix.Output)
		assert.Equal(t, "ok", f.files["a"])
		assert.Equal(t, "test", f.files["a_test"], "SC49: a fix is a delta")
		assert.Len(t, p.step(t, "p1.s1").Code.Tests, 1, "SC49")
		assert.Equal(t, []delivery.File{{Path: "a", Content: "ok"}}, f.wrote[1], "SC49: what changes is written, and nothing else")
	})
	t.Run("SC57 attempts start from the step's snapshot", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cast: map[string][]any{"code": {writes("wrong", "1"), writes("a", "1"), writes("b", "2")}, "verify step": {marks(60)}}}.play(t)
		require.NoError(t, p.err)
		assert.NotContains(t, f.files, "wrong")
		assert.Len(t, f.files, 4)
	})
	t.Run("SC57 a failed step leaves nothing", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: delivery.Config{Policy: delivery.Policy{AcceptableFailures: 1}}, cast: map[string][]any{
			"code": {writes("a", "BUG"), writes("b", "2")}, "fix": {always{writes("a", "BUG again")}},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, map[string]string{"b": "2", "b_test": "test"}, f.files)
	})
	t.Run("SC57 a failed sub-plan leaves nothing", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: delivery.Config{Policy: delivery.Policy{AcceptableFailures: 1}, Bounds: delivery.Bounds{Depth: 1}}, cast: map[string][]any{
			"code": {tooMuch, writes("sub", "1"), tooMuch, writes("b", "2")}, "subplan": {steps(2)},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, map[string]string{"b": "2", "b_test": "test"}, f.files)
	})
	t.Run("SC57 expiry leaves what was accepted", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: limited(2), cast: map[string][]any{"code": {writes("a", "1"), writes("b", "2")}, "verify step": {marks(90), flowtest.Hang()}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Equal(t, map[string]string{"a": "1", "a_test": "test"}, f.files)
		assert.False(t, p.out.State.Unrestored)
	})
	t.Run("SC57 expiry in the first step leaves nothing", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: limited(2), cast: map[string][]any{"code": {writes("a", "1")}, "verify step": {flowtest.Hang()}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Contains(t, f.ops, "apply")
		assert.Empty(t, f.files)
	})
	t.Run("SC57 SX14 the end of a budget leaves what was accepted", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: delivery.Config{Limits: team.Limits{Calls: 8}}, cast: map[string][]any{"code": {writes("a", "1")}}}.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Contains(t, f.ops, "apply")
		assert.Empty(t, f.files)
		assert.False(t, p.out.State.Unrestored)
	})
	t.Run("SC57 a restore that is refused is done before the next step", func(t *testing.T) {
		f := newFolder()
		f.fails[delivery.OpRestore], f.most[delivery.OpRestore] = errBoom, 4
		p := project{space: f, cfg: delivery.Config{Rules: fixes(10, 0), Policy: delivery.Policy{AcceptableFailures: 1}}, cast: map[string][]any{
			"code": {writes("a", "BUG"), writes("b", "2")},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, map[string]string{"b": "2", "b_test": "test"}, f.files)
		assert.False(t, p.out.State.Unrestored)
	})
	t.Run("SC57 SC28 no step begins on what could not be restored", func(t *testing.T) {
		f := newFolder()
		f.fails[delivery.OpRestore] = errBoom
		p := project{space: f, cfg: delivery.Config{Rules: fixes(1, 0)}, cast: map[string][]any{"code": {writes("a", "BUG")}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Equal(t, "the workspace could not be restored", p.step(t, "p1.s2").FailReason)
		assert.Len(t, p.asked["code"], 1)
		assert.Equal(t, []float64{1, 2, 4, 1, 2, 4}, p.slept(t))
	})
	t.Run("SC57 a state that could not be stored is not undone", func(t *testing.T) {
		f := newFolder()
		p := project{space: sinceFails(f, errBoom), cfg: delivery.Config{Rules: iterations(1)}, cast: map[string][]any{
			"code": {writes("a", "1"), writes("b", "2")}, "verify goal": {marks(60)},
		}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Len(t, f.files, 4)
		assert.Empty(t, p.out.State.Snapshot)
	})
	t.Run("SC55 SC57 the workspace has a second after the end", func(t *testing.T) {
		p := late()
		p.space = sinceFails(newFolder(), nil)
		got := p.play(t)
		require.ErrorIs(t, got.err, delivery.ErrTimeExpired)
		assert.InDelta(t, 606, got.out.Elapsed.Seconds(), 0.5)
	})
	t.Run("SC58 SC64 code that a continued run may not write", func(t *testing.T) {
		from := delivery.State{PrimaryGoal: "x", Plans: []delivery.Plan{
			{ID: "p1", Approved: true, Status: "in_progress", Steps: []delivery.Step{{
				ID: "p1.s1", Number: 1, Description: "a", Status: "in_progress", SubSteps: []string{"p2.s1"}, Tests: &delivery.TestResult{}, Verification: &delivery.Verdict{},
			}}},
			{ID: "p2", Approved: true, ParentPlanID: "p1", Depth: 1, Status: "in_progress", Steps: []delivery.Step{{
				ID: "p2.s1", Number: 1, Description: "b", Status: delivery.StepCompleted, Depth: 1, Code: &delivery.CodeOutput{Files: []delivery.File{{Path: "/etc/x"}}},
			}}},
		}}
		p := project{space: newFolder(), cfg: delivery.Config{Rules: iterations(1)}, in: delivery.Input{From: &from}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Contains(t, p.step(t, "p1.s1").FailReason, "a file was refused")
		assert.Empty(t, p.asked["code"])
		assert.Nil(t, p.step(t, "p1.s1").Tests)
		assert.Nil(t, p.step(t, "p1.s1").Verification)
	})
	t.Run("SC57 SC58 a step with a sub-plan under way is done anew", func(t *testing.T) {
		f := newFolder()
		first := project{space: f, cfg: limited(2), cast: map[string][]any{"code": {tooMuch, writes("a", "1"), flowtest.Hang()}, "subplan": {steps(2)}}}.play(t)
		require.ErrorIs(t, first.err, delivery.ErrTimeExpired)
		assert.Equal(t, delivery.StepBlocked, first.step(t, "p1.s1").Status)
		assert.Empty(t, f.files)

		f.done, f.files = map[string]agent.Response{}, map[string]string{"of somebody": "4"} // who worked there since
		p := project{space: f, in: delivery.Input{From: &first.out.State}, cast: map[string][]any{"code": {writes("b", "2"), writes("c", "3")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.EqualValues(t, "failed", p.out.State.Plans[1].Status)
		assert.Equal(t, delivery.StepCompleted, p.step(t, "p1.s1").Status)
		assert.Len(t, f.files, 6, "SC64")
	})
	t.Run("SC57 expiry in a sub-plan takes back the whole step", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: limited(2), cast: map[string][]any{
			"code": {writes("a", "1"), tooMuch, writes("b", "2"), flowtest.Hang()}, "subplan": {steps(2)},
		}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Equal(t, delivery.StepCompleted, p.step(t, "p2.s1").Status)
		assert.Equal(t, map[string]string{"a": "1", "a_test": "test"}, f.files)
	})
	t.Run("SC57 a sub-plan starts from the step's snapshot", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cfg: delivery.Config{Rules: delivery.Rules{Retrier: delivery.Retries{Step: orchestrator.Attempts{Max: 1}}}}, cast: map[string][]any{
			"code": {writes("wrong", "1"), writes("a", "1"), writes("b", "2")}, "verify step": {marks(60)},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.step(t, "p1.s1").MaxAttempts, "S27")
		assert.Equal(t, map[string]string{"a": "1", "a_test": "test", "b": "2", "b_test": "test"}, f.files)
	})
	t.Run("SC57 a path that is refused", func(t *testing.T) {
		p := project{space: newFolder(), cast: map[string][]any{"code": {writes("/etc/passwd", "1")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.step(t, "p1.s1").Attempts)
		assert.Equal(t, 1, p.out.State.Metrics.VerificationsFailed)
		assert.Contains(t, input[delivery.CodeInput](t, p.asked["code"][1]).Feedback[0], "/etc/passwd")
	})
	t.Run("SC57 a restore that is refused is done by the next run", func(t *testing.T) {
		f := newFolder()
		stop := project{space: f, cfg: limited(2), cast: map[string][]any{"code": {writes("a", "1"), writes("b", "2")}, "verify step": {marks(90), flowtest.Hang()}}}
		f.fails[delivery.OpRestore] = errBoom
		first := stop.play(t)
		assert.True(t, first.out.State.Unrestored)
		assert.Equal(t, "delivery/workspace", first.out.Warnings[0].Code)
		assert.Contains(t, f.files, "b")

		delete(f.fails, delivery.OpRestore)
		f.ops, f.done = nil, map[string]agent.Response{}
		p := project{space: f, in: delivery.Input{From: &first.out.State}, cast: map[string][]any{"code": {writes("c", "3")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, delivery.OpRestore, f.ops[0])
		assert.Equal(t, map[string]string{"a": "1", "a_test": "test", "c": "3", "c_test": "test"}, f.files)
	})
	t.Run("SC46 tests that cannot be run have failed", func(t *testing.T) {
		f := newFolder()
		f.fails[delivery.OpTest] = errBoom
		p := project{space: f, cfg: delivery.Config{Rules: fixes(1, 0)}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Contains(t, p.step(t, "p1.s1").FailReason, "the workspace could not test")
		assert.Equal(t, 4+4, strings.Count(strings.Join(f.ops, " "), "test"), "S51")
	})
	t.Run("SC46 what the workspace cannot do costs neither a fix nor another attempt nor a test", func(t *testing.T) {
		for _, op := range []string{delivery.OpApply, delivery.OpTest} {
			f := newFolder()
			f.fails[op], f.most[op] = errBoom, 4 // of step 1
			p := project{space: f, cfg: delivery.Config{Rules: iterations(1)}, cast: map[string][]any{"code": {writes("a", "1"), writes("b", "2")}}}.play(t)
			require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
			assert.Equal(t, "the workspace could not "+op, p.step(t, "p1.s1").FailReason)
			assert.Equal(t, 1, p.step(t, "p1.s1").Attempts)
			assert.Len(t, p.asked["code"], 2, "one for each step")
			assert.Empty(t, p.asked["fix"])
			assert.Len(t, p.asked["check"], 1, "of step 2")
			assert.Equal(t, map[string]string{"b": "2", "b_test": "test"}, f.files)
		}
	})
	t.Run("SC46 SC51 integration tests that cannot be run are no reason for another iteration", func(t *testing.T) {
		f := newFolder()
		full := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			if req.Op == delivery.OpTest && strings.Count(strings.Join(f.ops, " "), delivery.OpTest) == 2 { // of the two steps
				return agent.Response{}, errBoom
			}
			return f.Call(ctx, req)
		})
		p := project{space: full, cast: map[string][]any{"code": {writes("a", "1"), writes("b", "2")}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Len(t, p.asked["plan"], 1)
		assert.Empty(t, p.asked["integrate"])
		assert.Equal(t, map[string]string{"a": "1", "a_test": "test", "b": "2", "b_test": "test"}, f.files, "what is done is kept")
	})
	t.Run("SC57 a run without a step leaves the folder alone", func(t *testing.T) {
		f := newFolder()
		p := project{space: f, cast: map[string][]any{"plan": times(4, errBoom)}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrPlanning)
		assert.Empty(t, f.ops)
		assert.False(t, p.out.State.Unrestored)
	})
	t.Run("SC46 no snapshot, no step", func(t *testing.T) {
		f := newFolder()
		f.fails[delivery.OpSnapshot] = errBoom
		p := project{space: f, cfg: delivery.Config{Rules: iterations(1)}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Empty(t, p.asked["code"])
	})
}

func TestFallback(t *testing.T) {
	backup := func(role delivery.Role, answer any) (delivery.Config, *[]delivery.Failure) {
		asked := &[]delivery.Failure{}
		return delivery.Config{Rules: delivery.Rules{Fallback: func(f delivery.Failure) ([]byte, error) {
			*asked = append(*asked, f)
			if f.Role != role {
				return nil, nil
			}
			return agent.JSON(answer), nil
		}}}, asked
	}
	for _, tt := range []struct {
		name       string
		role       delivery.Role
		kind       string
		answer     any
		unverified string
	}{
		{"S52 SC51 a plan", delivery.Planner, "plan", steps(2), "p1"},
		{"S52 SC51 code", delivery.Coder, "code", code(), "p1.s1"},
		{"S52 SC51 a report", delivery.Tester, "check", passed, "p1.s1"},
		{"S52 SC51 a verdict", delivery.Supervisor, "verify plan", marks(90), "p1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, asked := backup(tt.role, tt.answer)
			p := project{cfg: cfg, cast: map[string][]any{tt.kind: times(4, errBoom)}}.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, orchestrator.Partial, p.out.Status)
			assert.Equal(t, []string{tt.unverified}, p.out.Unverified)
			require.Len(t, *asked, 1)
			assert.Equal(t, delivery.Failure{Role: tt.role, Op: p.asked[tt.kind][0].Op, Target: p.asked[tt.kind][0].Task, Err: (*asked)[0].Err}, (*asked)[0])
			require.EqualError(t, (*asked)[0].Err, "boom")
			assert.Equal(t, "delivery/fallback", p.out.Warnings[1].Code)
			assert.Equal(t, 15+3, p.asked.total())
			if tt.role == delivery.Supervisor {
				assert.Equal(t, 8, p.out.State.Metrics.VerificationsPassed, "it is no verdict of the supervisor")
			}
		})
	}
	t.Run("SC51 a report that is not reviewed", func(t *testing.T) {
		cfg, _ := backup(delivery.Tester, passed)
		cfg.Policy.SkipTestReview = true
		p := project{cfg: cfg, cast: map[string][]any{"check": times(4, errBoom)}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"p1.s1"}, p.out.Unverified)
	})
	t.Run("SC51 never for the goal", func(t *testing.T) {
		cfg, asked := backup(delivery.Supervisor, marks(100))
		p := project{cfg: cfg, cast: map[string][]any{"verify goal": times(4, errBoom)}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Empty(t, *asked)
	})
	t.Run("SC51 no score is assumed for what it gives", func(t *testing.T) {
		cfg, _ := backup(delivery.Coder, code())
		cfg.Policy.AssumeScore = new(100.0)
		p := project{cfg: cfg, cast: map[string][]any{"code": times(4, errBoom), "verify code": times(4, errBoom)}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"p1.s1"}, p.out.Unverified)
		for _, w := range p.out.Warnings {
			assert.NotEqual(t, "delivery/assumed-score", w.Code)
		}
	})
	// It is a rule like the others: the part that asked it fails, and the run's error says so.
	for _, tt := range []struct {
		name     string
		fallback func(delivery.Failure) ([]byte, error)
		kind     string
		who      string
		want     string
		err      error
	}{
		{"SC51 it panics", func(delivery.Failure) ([]byte, error) { panic("oh") }, "plan", "goal", "Rules.Fallback panicked: oh", delivery.ErrPlanning},
		{"SC51 it fails", func(delivery.Failure) ([]byte, error) { return nil, errors.New("no") }, "code", "p1.s1", "Rules.Fallback: no", delivery.ErrGoalNotReached},
		{
			"SC51 what it gives is checked", func(delivery.Failure) ([]byte, error) { return []byte(`{"passed": "two"}`), nil }, "check", "p1.s1",
			`Rules.Fallback: /passed: want {"type":"boolean"}, got "two"`, delivery.ErrGoalNotReached,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := project{cfg: delivery.Config{Rules: delivery.Rules{Fallback: tt.fallback}}, cast: map[string][]any{tt.kind: times(4, errBoom)}}.play(t)
			require.ErrorIs(t, p.err, delivery.ErrRule)
			require.ErrorIs(t, p.err, tt.err)
			require.ErrorContains(t, p.err, tt.want)
			assert.Equal(t, "delivery/agent-failed", p.out.Warnings[0].Code)
			assert.Equal(t, orchestrator.Warning{Code: "delivery/rule", Who: tt.who, Message: tt.want}, p.out.Warnings[1])
			assert.Equal(t, 1, p.out.State.Iteration, "a broken rule is not tried again")
		})
	}
}
