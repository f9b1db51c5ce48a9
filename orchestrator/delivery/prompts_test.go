package delivery

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/team/prompt"
)

var update = flag.Bool("update", false, "write the golden prompts anew")

// templates reads the templates of a team.
func templates(host fs.FS) (prompt.Set, error) {
	return prompt.New(prompt.Source{Own: ownPrompts, Host: host, Samples: samples()})
}

func TestPrompts(t *testing.T) {
	texts, err := templates(nil)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		file string
		data promptData
	}{
		"S54 plan":              {"plan.tmpl", promptData{Op: OpPlan, MinSteps: 2, MaxSteps: 15, Iteration: 1}},
		"S54 SC25 plan-revised": {"plan.tmpl", promptData{Op: OpPlan, MinSteps: 2, MaxSteps: 15, Iteration: 2, Rejected: true, Level: LevelCorrect}},
		"S54 S11 subplan":       {"plan.tmpl", promptData{Op: OpSubPlan, MinSteps: 1, MaxSteps: 15, Iteration: 1, Level: LevelRefocus}},
		"SC65 revise":           {"plan.tmpl", promptData{Op: OpRevise, MinSteps: 2, MaxSteps: 15, Iteration: 1, Level: LevelRemind}},
		"SC65 verify-revising":  {"verify.tmpl", promptData{Op: OpVerify, Gate: gateStep, Threshold: 70, Revisions: true}},
		"SC66 verify-monitor":   {"verify.tmpl", promptData{Op: OpVerify, Gate: gateMonitor}},
		"S55 S12 code":          {"code.tmpl", promptData{Op: OpCode}},
		"S55 SC31 code-retried": {"code.tmpl", promptData{Op: OpCode, Rejected: true, Level: LevelRemind}},
		"S55 SC31 code-warned":  {"code.tmpl", promptData{Op: OpCode, Level: LevelCritical, Issues: 4, AbortAt: 5}},
		"S55 fix":               {"code.tmpl", promptData{Op: OpFix}},
		"SC31 fix-warned":       {"code.tmpl", promptData{Op: OpFix, Level: LevelCritical, Issues: 4, AbortAt: off}},
		"S56 S13 check":         {"test.tmpl", promptData{Op: OpCheck, Ran: true}},
		"S56 integrate":         {"test.tmpl", promptData{Op: OpIntegrate}},
		"S57 S14 verify-plan":   {"verify.tmpl", promptData{Op: OpVerify, Gate: gatePlan, Threshold: 70}},
		"S57 verify-code":       {"verify.tmpl", promptData{Op: OpVerify, Gate: gateCode, Threshold: 60}},
		"S57 verify-test":       {"verify.tmpl", promptData{Op: OpVerify, Gate: gateTest}},
		"S57 verify-step":       {"verify.tmpl", promptData{Op: OpVerify, Gate: gateStep, Threshold: 70}},
		"S57 verify-goal":       {"verify.tmpl", promptData{Op: OpVerify, Gate: gateGoal, Threshold: 80}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := texts.Fill(tt.file, tt.data)
			require.NoError(t, err)
			path := filepath.Join("testdata", name[strings.LastIndex(name, " ")+1:]+".prompt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got+"\n"), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got+"\n")
		})
	}
	t.Run("S54 the host's", func(t *testing.T) {
		texts, err := templates(fstest.MapFS{"plan.tmpl": {Data: []byte("Plan {{.MaxSteps}} steps.{{template \"guidance.tmpl\" .}}")}})
		require.NoError(t, err)
		got, err := texts.Fill("plan.tmpl", promptData{MaxSteps: 15})
		require.NoError(t, err)
		assert.Equal(t, "Plan 15 steps.", got)
		_, err = templates(fstest.MapFS{"code.tmpl": {Data: []byte("{{.Goal}}")}})
		require.ErrorContains(t, err, "code.tmpl")
	})
}

func TestShown(t *testing.T) {
	t.Run("SX13 large work is quoted up to 64 KiB", func(t *testing.T) {
		large := strings.Repeat("é", 40<<10)
		whole := CodeOutput{Files: []File{{Path: "a", Content: large}, {Path: "b", Content: "b"}}, Tests: []File{{Path: "c"}}}
		got := shownCode(&whole)
		assert.True(t, strings.HasPrefix(got.Files[0].Content, strings.Repeat("é", 32<<10)))
		assert.Contains(t, got.Files[0].Content, "[cut: the first 65536 of 81920 bytes]")
		assert.Equal(t, "[cut]", got.Files[1].Content)
		assert.Empty(t, got.Tests[0].Content)
		assert.Equal(t, large, whole.Files[0].Content, "the work itself is whole")
		assert.Equal(t, whole.Files[0].Content[:100], shownCode(&CodeOutput{Files: []File{{Content: large[:100]}}}).Files[0].Content)
		report := TestResult{Output: large}
		assert.Less(t, len(shownReport(&report).Output), 65<<10)
		assert.Nil(t, shownCode(nil))
		assert.Nil(t, shownReport(nil))
	})
}
