package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	o "github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func scripts(t testing.TB) agent.Roster {
	return agent.Roster{
		"writer": flowtest.NewScript(t, "a", "b", "c"),
		"critic": flowtest.NewScript(t,
			o.Verdict{Score: 50, Feedback: "longer"},
			o.Verdict{Score: 60, Feedback: "warmer"},
			o.Verdict{Score: 85}),
	}
}

func TestThirdPrompt(t *testing.T) {
	var writer *flowtest.Script
	out, _, err := flowtest.New(hello, "tea", func(t testing.TB) agent.Roster {
		roster := scripts(t)
		writer = roster["writer"].(*flowtest.Script)
		return roster
	}).Run(t)
	require.NoError(t, err)
	assert.Equal(t, o.Refined[string]{Value: "c", Verdict: o.Verdict{Score: 85}, Pass: true, Tries: 3}, out)
	assert.Contains(t, writer.Requests()[2].Prompt, "warmer", "the third prompt brings the feedback on the second try")
}

func TestBestOfThree(t *testing.T) {
	out, _, err := flowtest.New(hello, "tea", func(t testing.TB) agent.Roster {
		return agent.Roster{
			"writer": flowtest.NewScript(t, "a", "b", "c"),
			"critic": flowtest.NewScript(t, o.Verdict{Score: 50}, o.Verdict{Score: 79}, o.Verdict{Score: 60}),
		}
	}).Run(t)
	require.NoError(t, err)
	assert.Equal(t, o.Refined[string]{Value: "b", Verdict: o.Verdict{Score: 79}, Tries: 3}, out)
}

const errQuota = agent.Code("acme/quota")

func TestAgentFails(t *testing.T) {
	_, _, err := flowtest.New(hello, "tea", func(t testing.TB) agent.Roster {
		return agent.Roster{
			"writer": flowtest.NewScript(t, errQuota, errQuota, errQuota),
			"critic": flowtest.NewScript(t),
		}
	}).Run(t)
	if !errors.Is(err, errQuota) {
		t.Fatalf("Run error = %v, want %v", err, errQuota)
	}
}

func TestCrash(t *testing.T) { flowtest.New(hello, "tea", scripts).Sweep(t) }

func TestOrder(t *testing.T) { flowtest.New(hello, "tea", scripts).Determinism(t) }

func TestProgramPrints(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hello")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stderr = os.Stderr
	got, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "Tea: a small fire you can hold. 90 true 2 <nil>\n", string(got))
	help, err := exec.CommandContext(t.Context(), program, "-h").Output()
	require.NoError(t, err)
	assert.Contains(t, string(help), "no flags")
	var exit *exec.ExitError
	require.ErrorAs(t, exec.CommandContext(t.Context(), program, "-nope").Run(), &exit)
	assert.Equal(t, 2, exit.ExitCode())
}
