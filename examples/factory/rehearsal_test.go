package main

import (
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// Each text is said once in a run, so none is there for nothing.
func TestEveryTextIsSaid(t *testing.T) {
	m := whole(t)
	said := 0
	for call := range clitest.Answers(clitest.Log(t, m.path("f.db"), runID(t, args(m.dir)))) {
		if !strings.HasSuffix(call, " of "+workshop) {
			said++
		}
	}
	texts, err := fs.ReadDir(script, ".")
	require.NoError(t, err)
	assert.Len(t, texts, said)
}

// code are the coder's texts, in the order in which they are said.
func code(t *testing.T) []delivery.CodeOutput {
	t.Helper()
	var all []delivery.CodeOutput
	for _, step := range []string{"p1.s1", "p2.s1", "p2.s2", "p1.s3", "p1.s4"} {
		for n := 1; ; n++ {
			said, err := text("coder."+step, n)
			if err != nil {
				break
			}
			all = append(all, written(said))
		}
	}
	require.Len(t, all, 8, "three steps have a second text")
	return all
}

func TestScriptIsFormatted(t *testing.T) {
	for _, out := range code(t) {
		for _, f := range append(out.Files, out.Tests...) {
			if !strings.HasSuffix(f.Path, ".go") {
				continue
			}
			want, err := format.Source([]byte(f.Content))
			require.NoError(t, err, f.Path)
			assert.Equal(t, string(want), f.Content, f.Path)
		}
	}
}

// What the supervisor rejects passes its own tests and fails those that it asked for.
func TestRejectionIsRight(t *testing.T) {
	all, dir := code(t), t.TempDir()
	put := func(files ...delivery.File) {
		for _, f := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.Path), []byte(f.Content), 0o600))
		}
	}
	for _, out := range all[:6] {
		put(append(out.Files, out.Tests...)...)
	}
	out, err := gotool(t, dir, "test", ".")
	require.NoError(t, err, out)
	put(all[6].Tests...)
	out, err = gotool(t, dir, "test", ".")
	require.Error(t, err)
	for _, want := range []string{"is \"PT1e-09S\"", "is \"-PT-2562047H-47M-16.854775808S\"", "is \"-P-1Y1D\""} {
		assert.Contains(t, out, want)
	}
}

func TestWritten(t *testing.T) {
	got := written("One -- two.\nMore.\n-- go.mod --\nmodule x\n-- a_test.go --\npackage x\n\n// -- b --\n\n")
	assert.Equal(t, delivery.CodeOutput{
		Summary: "One -- two.\nMore.", Files: []delivery.File{{Path: "go.mod", Content: "module x\n"}},
		Tests: []delivery.File{{Path: "a_test.go", Content: "package x\n\n// -- b --\n"}},
	}, got)
	assert.Equal(t, delivery.CodeOutput{NeedsSubPlan: true, Reason: "Too much."}, written("Too much.\n"))
}

func TestTextsByAgentTaskAndAttempt(t *testing.T) {
	second, err := text("coder.p2.s1", 2)
	require.NoError(t, err)
	first, err := text("coder.p2.s1", 1)
	require.NoError(t, err)
	one, two := written(first), written(second)
	step := delivery.Task{ID: "p2.s1"}
	for _, tt := range []struct {
		op    string
		input any
		want  string
		n     int
	}{
		{delivery.OpPlan, delivery.PlanInput{}, "goal", 1},
		{delivery.OpPlan, delivery.PlanInput{Reasons: []string{"no"}}, "goal", 2},
		{delivery.OpSubPlan, delivery.PlanInput{Blocked: &delivery.Blocked{Step: delivery.Task{ID: "p1.s2"}}}, "p1.s2", 1},
		{delivery.OpCode, delivery.CodeInput{Step: step}, "p2.s1", 1},
		{delivery.OpFix, delivery.CodeInput{Step: step, Previous: &one}, "p2.s1", 2},
		{delivery.OpFix, delivery.CodeInput{Step: step, Previous: &two}, "p2.s1", 3},
		{delivery.OpCheck, delivery.TestInput{Step: &step, Code: &two}, "p2.s1", 2},
		{delivery.OpCheck, delivery.TestInput{Step: &step, Code: &delivery.CodeOutput{Summary: "another"}}, "p2.s1", 1},
		{delivery.OpIntegrate, delivery.TestInput{}, "goal", 1},
		{delivery.OpVerify, delivery.VerifyInput{Gate: "plan", Plan: &delivery.Plan{ID: "p1"}}, "plan.p1", 1},
		{delivery.OpVerify, delivery.VerifyInput{Gate: "code", Step: &step, Code: &two}, "code.p2.s1", 2},
		{delivery.OpVerify, delivery.VerifyInput{Gate: "test"}, "test.goal", 1},
		{delivery.OpVerify, delivery.VerifyInput{Gate: "goal", Plan: &delivery.Plan{ID: "p1"}}, "goal", 1},
	} {
		task, n, err := look(agent.Request{Op: tt.op, Input: agent.JSON(tt.input)})
		require.NoError(t, err)
		assert.Equal(t, tt.want, task, tt.op)
		assert.Equal(t, tt.n, n, "%s %s", tt.op, task)
	}
}

// What the script does not have is an error that says so, and is not tried again.
func TestNoText(t *testing.T) {
	coder := rehearse(0)[string(delivery.Coder)]
	for want, req := range map[string]agent.Request{
		"the script has no text for coder.p9.s1 at attempt 1":                   {Op: delivery.OpCode, Input: agent.JSON(delivery.CodeInput{Step: delivery.Task{ID: "p9.s1"}})},
		`the script knows no "sing"`:                                            {Op: "sing"},
		"json: cannot unmarshal array into Go value of type delivery.CodeInput": {Op: delivery.OpCode, Input: []byte(`[]`)},
	} {
		_, err := coder.Call(t.Context(), req)
		require.EqualError(t, err, want)
		assert.ErrorIs(t, err, agent.Code("permanent"))
	}
}

func TestEveryRoleHasInstructions(t *testing.T) {
	roles := []string{"coder", "planner", "supervisor", "tester"}
	assert.ElementsMatch(t, roles, slicesOf(rehearse(0)))
	assert.ElementsMatch(t, roles, slicesOf(cast(nil)))
}

func slicesOf(r agent.Roster) (names []string) {
	for name := range maps.Keys(r) {
		names = append(names, name)
	}
	return names
}
