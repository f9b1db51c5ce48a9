package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
)

// work answers as a team of models would.
func work(body string) string {
	switch {
	case strings.Contains(body, "Plan the work"):
		return `{"analysis":"two","steps":[{"number":1,"description":"add","complexity":"simple","dependsOn":[]},{"number":2,"description":"double \u001b[2J","complexity":"simple","dependsOn":[1]}]}`
	case strings.Contains(body, "Do the step") && strings.Contains(body, `p1.s2`):
		return `{"summary":"double","files":[{"path":"double.go","content":"package sum\n\n// Double doubles.\nfunc Double(a int) int { return Add(a, a) }\n"}],"tests":[{"path":"double_test.go","content":"package sum\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Fail()\n\t}\n}\n"}]}`
	case strings.Contains(body, "Do the step"):
		return `{"summary":"add","files":[{"path":"go.mod","content":"module example.com/sum\n\ngo 1.24\n"},{"path":"sum.go","content":"// Package sum sums.\npackage sum\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n"}],"tests":[{"path":"sum_test.go","content":"package sum\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fail()\n\t}\n}\n"}]}`
	case strings.Contains(body, "Report each issue"):
		return `{"passed":true,"coverage":100}`
	default:
		return `{"approved":true,"score":90,"evidence":["the tests pass"],"reason":"it adds"}`
	}
}

// hostCache is what this machine has built: without it each test builds the standard
// library anew.
func hostCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// The team asks models that refuse what today's models refuse, and any objective goes.
func TestModels(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test again and again")
	}
	for _, model := range clitest.StrictModels {
		t.Run(model, func(t *testing.T) {
			s, dir := clitest.NewStrict(t, model, work), t.TempDir()
			p := clitest.Program{Name: program, Run: factory, Env: s.Env()}
			in := func(name string) string { return filepath.Join(dir, name) }
			got := p.Start(t.Context(), slices.Concat(s.Flags(), []string{"a package that adds", "-db", in("f.db"), "-dir", in("out"), "-cache", hostCache(t), "-budget", "1", "-page", in("p.html")})...)
			require.Equal(t, 0, got.Code, got.Err)
			assert.Equal(t, int64(15), s.Calls.Load(), "plan, code, tests and gates of two steps, and of the whole")
			assert.Zero(t, s.Refused.Load(), "nothing that is known to be refused was sent")
			assert.Contains(t, got.Out, "completed: goal score 90, 24 calls, 0.0030 USD, 2250 tokens, ")
			assert.NotContains(t, strings.ToLower(got.Out), "rehears")
			assert.NotContains(t, got.Out, "\x1b", "texts command no terminal")
			out, err := gotool(t, in("out"), "test", ".")
			require.NoError(t, err, out)
			assert.Len(t, files(t, in("out")), 5)
			assert.FileExists(t, in("p.html"))
		})
	}
}

func TestModelThatOffendsItsBudget(t *testing.T) {
	s, dir := clitest.NewModel(t, work), t.TempDir()
	p := clitest.Program{Name: program, Run: factory, Env: s.Env()}
	flags := s.Flags()
	flags[len(flags)-1] = "2000,4000" // 0.40 USD a call
	got := p.Start(t.Context(), append(flags, "a package that adds", "-budget", "1", "-db", filepath.Join(dir, "f.db"), "-dir", filepath.Join(dir, "out"))...)
	assert.Equal(t, cli.Failed, got.Code)
	assert.Regexp(t, `^factory: the run ended out-of-budget: `, got.Err)
	assert.Equal(t, int64(2), s.Calls.Load(), "a third one does not fit")
}

// A cache that other builds use can be spoiled by code under test: a model has its own.
func TestCache(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"of the rehearsal", []string{iso}, []string{"GOCACHE=" + hostCache(t)}},
		{"of a model", []string{"x", "-model", "openai:m"}, nil},
		{"that is named", []string{"x", "-model", "openai:m", "-cache", "/tmp"}, []string{"GOCACHE=/tmp"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parse(tt.args, nil)
			require.NoError(t, err)
			s, err := o.newShop(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tt.want, s.cfg.Env)
			assert.Len(t, s.cfg.Writable, len(tt.want))
		})
	}
}
