package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
	"github.com/convene-go/convene/orchestrator/team"
)

type object = map[string]any

// operator is code of a function of two numbers, with a test of it that leaves a file
// behind.
func operator(name, body string) object {
	low := strings.ToLower(name)
	return object{
		"summary": name,
		"files":   []object{{"path": low + ".go", "content": "package sum\n\n// " + name + " is an operator.\nfunc " + name + "(a, b int) int { " + body + " }\n"}},
		"tests": []object{{"path": low + "_test.go", "content": "package sum\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc Test" + name + "(t *testing.T) {\n" +
			"\tos.WriteFile(\"litter.txt\", nil, 0o644)\n\tif got, want := " + name + "(6, 2), map[string]int{\"Sub\": 4, \"Mul\": 12, \"Div\": 3}[\"" + name + "\"]; got != want {\n" +
			"\t\tt.Errorf(\"got %d, want %d\", got, want)\n\t}\n}\n"}},
	}
}

// fixed is a fix of an operator: the function alone.
func fixed(name, body string) object {
	all := operator(name, body)
	delete(all, "tests")
	return all
}

// crew are members of a team who say what stands in lines: by what they are asked, and
// of which step. The supervisor is content with everything, and so is the tester,
// whatever the tests did.
type crew struct {
	lines map[string]object
	asked []agent.Request
}

func (c *crew) Call(_ context.Context, req agent.Request) (agent.Response, error) {
	c.asked = append(c.asked, req)
	var in struct {
		Step    *delivery.Task
		Blocked *delivery.Blocked
	}
	if err := json.Unmarshal(req.Input, &in); err != nil {
		return agent.Response{}, err
	}
	key := req.Op
	switch {
	case in.Blocked != nil:
		key += " " + in.Blocked.Step.ID
	case in.Step != nil:
		key += " " + in.Step.ID
	}
	answer, ok := c.lines[key]
	switch {
	case ok:
	case req.Op == delivery.OpVerify:
		answer = object{"approved": true, "score": 90, "evidence": []string{"the tests pass"}}
	case req.Op == delivery.OpCheck, req.Op == delivery.OpIntegrate:
		answer = object{"passed": true}
	default:
		return agent.Response{}, fmt.Errorf("nothing to say to %s", key)
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

// of are the requests of an operation.
func (c *crew) of(op string) (reqs []agent.Request) {
	for _, req := range c.asked {
		if req.Op == op {
			reqs = append(reqs, req)
		}
	}
	return reqs
}

func plan(descriptions ...string) object {
	steps := []object{}
	for i, d := range descriptions {
		steps = append(steps, object{"number": i + 1, "description": d, "complexity": "simple"})
	}
	return object{"steps": steps}
}

// deliver runs a team on w.
func deliver(t *testing.T, w *workspace.Workspace, c *crew, cfg delivery.Config) (delivery.Outcome, error) {
	t.Helper()
	cfg.Agents = delivery.Agents{Planner: "crew", Coder: "crew", Tester: "crew", Supervisor: "crew", Workspace: "workspace"}
	flow, err := delivery.New(cfg)
	require.NoError(t, err)
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"crew": c, "workspace": w}})
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.Close(context.WithoutCancel(t.Context()))) }()
	return flow.Run(t.Context(), e, delivery.Input{Goal: "operators"}, orchestrator.StartOptions{ID: "operators"})
}

// quick is config without go vet, which takes longer than such tests.
func quick(t *testing.T) workspace.Config {
	t.Helper()
	c := config(t)
	c.Test = []string{"go", "test", "-json", "-count=1", "-vet=off", "./..."}
	return c
}

// kept lists the files of a snapshot, by git itself.
func kept(t *testing.T, c workspace.Config, id string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "--git-dir", filepath.Join(c.State, "snapshots.git"), "ls-tree", "-r", "--name-only", id).Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

func TestTeam(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	c := quick(t)
	w := open(t, c)
	before := snapshot(t, w, "")
	members := &crew{lines: map[string]object{
		"plan":          plan("Sub", "Mul", "Div"),
		"code p1.s1":    operator("Sub", "return a + b"),
		"fix p1.s1":     fixed("Sub", "return a - b"),
		"code p1.s2":    {"summary": "", "needsSubPlan": true, "reason": "it is too much"},
		"subplan p1.s2": plan("Mul, in full"),
		"code p2.s1":    operator("Mul", "return a * b"),
		"code p1.s3":    operator("Div", "return a % b"),
		"fix p1.s3":     fixed("Div", "return b / a"),
	}}
	out, err := deliver(t, w, members, delivery.Config{
		Policy: delivery.Policy{AcceptableFailures: 1, SkipTestReview: true}, Rules: delivery.Rules{Retrier: delivery.Retries{Fix: orchestrator.Attempts{Max: 2}}}, Limits: team.Limits{Time: orchestrator.None},
	})
	require.NoError(t, err)
	steps := map[string]delivery.Step{}
	for _, p := range out.State.Plans {
		for _, s := range p.Steps {
			steps[s.ID] = s
		}
	}
	t.Run("SC53 SC57 how it ends", func(t *testing.T) {
		assert.Equal(t, orchestrator.Partial, out.Status, "a step failed")
		assert.EqualValues(t, "completed", out.State.Status)
		assert.Empty(t, out.Unverified)
		assert.Empty(t, out.Warnings)
		assert.False(t, out.State.Unrestored)
		assert.Equal(t, delivery.Metrics{
			TotalSteps: 4, CompletedSteps: 3, FailedSteps: 1, ReplanCount: 1, FixCycles: 2, VerificationsPassed: 11,
		}, out.State.Metrics)
		assert.Equal(t, []string{"p1.s3"}, out.Report.Unfinished)
	})
	t.Run("SX9 SC52 the tests count, not the tester", func(t *testing.T) {
		require.Len(t, members.of(delivery.OpFix), 2)
		for _, req := range members.of(delivery.OpCheck)[:1] {
			var in delivery.TestInput
			require.NoError(t, json.Unmarshal(req.Input, &in))
			require.NotNil(t, in.Run)
			assert.False(t, in.Run.Passed)
			assert.Equal(t, "failed: example.org/sum TestSub", in.Run.Reason)
		}
		var fix delivery.CodeInput
		require.NoError(t, json.Unmarshal(members.of(delivery.OpFix)[0].Input, &fix))
		assert.Contains(t, fix.Fix.Output, "sub_test.go:11: got 8, want 4")
		assert.True(t, steps["p1.s1"].Tests.Passed)
		assert.Equal(t, 2, steps["p1.s1"].Tests.Ran)
		assert.Equal(t, "its tests fail after 1 fixes: failed: example.org/sum TestDiv", steps["p1.s3"].FailReason)
	})
	t.Run("SC20 SC21 S46 a sub-plan's work is tested with the step", func(t *testing.T) {
		assert.Equal(t, []string{"p2.s1"}, steps["p1.s2"].SubSteps)
		assert.Equal(t, delivery.StepCompleted, steps["p1.s2"].Status)
		assert.Equal(t, 3, steps["p1.s2"].Tests.Ran)
	})
	t.Run("SC57 the folder is as the last accepted step left it", func(t *testing.T) {
		want := []string{"go.mod", "mul.go", "mul_test.go", "sub.go", "sub_test.go", "sum.go", "sum_test.go"}
		assert.Equal(t, want, kept(t, c, out.State.Snapshot))
		entries, err := os.ReadDir(c.Dir)
		require.NoError(t, err)
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		assert.Equal(t, want, names, "no litter of tests, and nothing of the step that failed")
		assert.Contains(t, content(t, c, "sub.go"), "return a - b")
		last := snapshot(t, w, before.ID)
		assert.Equal(t, out.State.Snapshot, last.ID)
		assert.Contains(t, last.Diff, "+func Mul(a, b int) int { return a * b }")
		must(t, w, delivery.OpRestore, before, nil)
		assert.Equal(t, before.ID, snapshot(t, w, "").ID, "all of it can be taken back")
	})
	t.Run("SC49 SX11 nothing that members get has a time or a path of the machine", func(t *testing.T) {
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		for _, req := range members.asked {
			said := req.Prompt + string(req.Input)
			for _, path := range []string{filepath.Dir(c.Dir), os.TempDir(), home + "/", runtime.GOROOT()} { //nolint:staticcheck // where the tests' Go is
				if path != "" {
					assert.NotContains(t, said, path)
				}
			}
			assert.NotRegexp(t, `\d+\.\d+s\b|\d\d:\d\d:\d\d`, said)
		}
	})
}

// A host without a log starts again with the same ID, and so with the same keys.
func TestRunOfTheSameID(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	t.Run("SC46 a further run does its own work", func(t *testing.T) {
		c := quick(t)
		w := open(t, c)
		members := &crew{lines: map[string]object{"plan": plan("Sub"), "code p1.s1": operator("Sub", "return a - b")}}
		cfg := delivery.Config{Policy: delivery.Policy{SkipTestReview: true}, Bounds: delivery.Bounds{MinSteps: 1}}
		for range 2 {
			out, err := deliver(t, w, members, cfg)
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Completed, out.Status)
			require.NoError(t, os.Remove(filepath.Join(c.Dir, "sub.go")), "it was written")
		}
	})
}

// Errors of the workspace itself have no paths of the machine, either.
func TestErrorsHaveNoPaths(t *testing.T) {
	c := config(t)
	c.Test = []string{"no-such-program"}
	w := open(t, c)
	t.Run("SC57 SX11 a file in the place of a folder", func(t *testing.T) {
		_, err := call(t, w, "", delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{{Path: "sum.go/x.go", Content: "package x"}}})
		require.ErrorContains(t, err, "sum.go/x.go")
		assert.NotContains(t, err.Error(), filepath.Dir(c.Dir))
	})
	t.Run("SX11 a folder in the place of a file", func(t *testing.T) {
		write(t, c, "deep/x.go", "package deep\n")
		_, err := call(t, w, "", delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{{Path: "deep", Content: "x"}}})
		require.ErrorContains(t, err, "deep")
		assert.NotContains(t, err.Error(), filepath.Dir(c.Dir))
	})
	t.Run("SX11 no program", func(t *testing.T) {
		_, err := call(t, w, "", delivery.OpTest, nil)
		require.ErrorContains(t, err, "no-such-program")
	})
	t.Run("SX11 an answer that cannot be kept", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(filepath.Join(c.State, "calls")))
		_, err := call(t, w, "run/1", delivery.OpSnapshot, nil)
		require.ErrorContains(t, err, "workspace: snapshot: open $STATE/calls/")
		assert.NotContains(t, err.Error(), filepath.Dir(c.Dir))
	})
	t.Run("SX11 a missing folder", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(c.Dir))
		_, err := call(t, w, "", delivery.OpSnapshot, nil)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), filepath.Dir(c.Dir))
	})
}
