package delivery

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMissingTests(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tests []File
		want  string
	}{
		{"S4 with one", []File{{Path: "a_test.go", Content: "package a"}}, ""},
		{"S4 SA10 SC9 without", nil, "there are no tests"},
		{"SC49 deleted", []File{{Path: "a_test.go", Delete: true}}, "there are no tests"},
		{"S4 empty", []File{{Path: "a_test.go", Content: " \n"}}, "there are no tests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, CodeOutput{Files: []File{{Path: "a.go", Content: "package a"}}, Tests: tt.tests}.faults())
		})
	}
}

func TestFixed(t *testing.T) {
	attempt := CodeOutput{
		Summary: "first", Files: []File{{Path: "a.go", Content: "1"}, {Path: "b.go", Content: "1"}},
		Tests: []File{{Path: "a_test.go", Content: "1"}, {Path: "moved.go", Content: "1"}},
	}
	fix := CodeOutput{Summary: "fix", Files: []File{{Path: "/b.go", Content: "2"}, {Path: "c.go", Content: "2"}, {Path: "moved.go", Content: "2"}}}
	t.Run("SC49 a fix is a delta", func(t *testing.T) {
		assert.Equal(t, CodeOutput{
			Summary: "fix",
			Files:   []File{{Path: "a.go", Content: "1"}, {Path: "/b.go", Content: "2"}, {Path: "c.go", Content: "2"}, {Path: "moved.go", Content: "2"}},
			Tests:   []File{{Path: "a_test.go", Content: "1"}},
		}, attempt.fixed(fix))
	})
	t.Run("SC49 deleting all tests is missing tests", func(t *testing.T) {
		gone := attempt.fixed(CodeOutput{Tests: []File{{Path: "a_test.go", Delete: true}, {Path: "moved.go", Delete: true}}})
		assert.Equal(t, "there are no tests", gone.faults())
	})
	assert.Equal(t, "1", attempt.Files[1].Content, "the attempt is as it was")
}

func TestDeriveFixPlan(t *testing.T) {
	issues := []Issue{
		{Severity: "minor", Description: "small"},
		{Severity: "critical", Description: "crashes", Location: "a.go:3"},
		{Severity: "major", Description: "wrong"},
		{Severity: "critical", Description: "leaks"},
	}
	sorted := []string{"a.go:3: crashes", "leaks", "wrong", "small"}
	for _, tt := range []struct {
		name    string
		result  TestResult
		verdict *Verdict
		want    []string
	}{
		{"SC29 S49 the tester's", TestResult{FixPlan: &FixPlan{Items: []string{"do this"}}, Issues: issues}, nil, []string{"do this"}},
		{"SC29 S5 of its issues", TestResult{FixPlan: &FixPlan{}, Issues: issues, Output: "x"}, nil, sorted},
		{"SC29 of the output", TestResult{Reason: "no test ran", Output: " FAIL\n"}, nil, []string{"Make the tests pass. FAIL"}},
		{"SC29 of the reason", TestResult{Reason: "no test ran"}, nil, []string{"Make the tests pass. no test ran"}},
		{"SC29 of nothing", TestResult{}, nil, []string{"Make the tests pass. There is no output."}},
		{"SC12 SA33 and of the verdict", TestResult{FixPlan: &FixPlan{Items: []string{"do this"}}}, &Verdict{Findings: issues}, append([]string{"do this"}, sorted...)},
		{"SC33 SA15 of a rejected fix", TestResult{}, &Verdict{Findings: issues[:1], Reason: "no"}, []string{"small"}},
		{"SC33 without findings", TestResult{}, &Verdict{Reason: "it is a stub"}, []string{"Make the tests pass. it is a stub"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, deriveFixPlan(tt.result, tt.verdict).Items)
		})
	}
	t.Run("SX13 a long output is quoted in part", func(t *testing.T) {
		item := deriveFixPlan(TestResult{Output: strings.Repeat("x", 1<<20)}, nil).Items[0]
		assert.Less(t, len(item), 5000)
		assert.Contains(t, item, "[cut: the first 4096 of 1048576 bytes]")
	})
}
