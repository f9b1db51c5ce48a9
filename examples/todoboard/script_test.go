package main

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/providers"
)

// cache is the folder for what the go command keeps: that of the program.
func cache(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	require.NoError(t, err)
	return filepath.Join(dir, "convene-todoboard")
}

// performs has the tools do what a worker does in an attempt, in a folder.
func performs(t *testing.T, dir, part string, attempt int) (results []string) {
	t.Helper()
	s, err := newShop(dir, cache(t))
	require.NoError(t, err)
	p, err := readPlay(part, attempt)
	require.NoError(t, err)
	ctx := trees.WithPlace(t.Context(), trees.Place{Path: dir})
	for _, next := range p.steps {
		at := slices.IndexFunc(s.tools, func(tool agent.Tool) bool { return tool.Name == next.tool })
		require.GreaterOrEqual(t, at, 0, next.tool)
		said, err := s.tools[at].Call(ctx, next.call(nil).Input)
		require.NoError(t, err, "%s %d: %s %v", part, attempt, next.tool, next.input)
		results = append(results, said)
	}
	return results
}

type attempt struct {
	part string
	n    int
}

// Whoever loses the conflict, the second attempts fit, and what is built passes.
func TestScriptBuildsABoard(t *testing.T) {
	before := []attempt{
		{"planner_worker.db_plan", 1}, {"code_worker.db_build", 2}, {"planner_worker.api_plan", 1}, {"planner_worker.views_plan", 2},
	}
	after := []attempt{{"code_worker.views_build", 1}, {"research_worker.views_dates", 1}, {"code_worker.views_build", 2}, {"writer_worker.readme", 1}}
	for name, pair := range map[string][]attempt{
		"the API is later":    {{"test_worker.db_test", 1}, {"code_worker.api_build", 2}},
		"the tests are later": {{"code_worker.api_build", 1}, {"test_worker.db_test", 2}},
	} {
		t.Run("BC51 "+name, func(t *testing.T) {
			dir := t.TempDir()
			for _, a := range slices.Concat(before, pair, after) {
				for _, said := range performs(t, dir, a.part, a.n) {
					assert.NotContains(t, said, "FAIL", "%s %d", a.part, a.n)
				}
			}
			assert.NoDirExists(t, filepath.Join(dir, "auth"), "the login is gone")
			for _, command := range [][]string{{"go", "vet", "./..."}, {"go", "test", "./..."}} {
				cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			assert.Equal(t, "todoboard", in(t, dir, "go", "list", "-m", "all"), "it needs the standard library only")
			formatted(t, dir)
		})
	}
}

func formatted(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		pretty, err := format.Source(data)
		require.NoError(t, err)
		assert.Equal(t, string(pretty), string(data), path)
		return nil
	}))
}

// The first storage breaks the rule for which it is sent back, and no other.
func TestFirstStorageIsWrong(t *testing.T) {
	dir := t.TempDir()
	performs(t, dir, "code_worker.db_build", 1)
	s, err := newShop(dir, cache(t))
	require.NoError(t, err)
	at := slices.IndexFunc(s.tools, func(tool agent.Tool) bool { return tool.Name == "run" })
	said, err := s.tools[at].Call(trees.WithPlace(t.Context(), trees.Place{Path: dir}), []byte(`{"command":"test"}`))
	require.NoError(t, err)
	assert.Contains(t, said, `due "2026-03-31", todo: Overdue(2026-03-31) = true, want false`)
	assert.Equal(t, 2, strings.Count(said, "--- FAIL"), "the table and one row of it: %s", said)
}

func TestCriterionOfATest(t *testing.T) {
	criteria := []director.Criterion{{Number: 1, Text: "Todos are kept in a file"}, {Number: 2, Text: "What is due today is not overdue"}}
	assert.Equal(t, []int{2}, about("todoboard/store TestOverdue/today", criteria))
	assert.Equal(t, []int{1, 2}, about("todoboard/store TestSomething", criteria), "it is about none")
}

func TestReviewFails(t *testing.T) {
	input := agent.JSON(director.ReviewInput{
		Criteria: []director.Criterion{{Number: 1, Text: "Todos are kept in a file"}, {Number: 2, Text: "What is due today is not overdue"}},
		Artifact: director.Artifact{Path: "store/store.go", Size: 1},
		Checks:   &director.CheckResult{Failed: []string{"todoboard/store TestOverdue/today"}, Output: "want false"},
	})
	text, err := review("qa", input)
	require.NoError(t, err)
	assert.JSONEq(t, `{"passed": false, "focus": "Run the tests before you say that you are done.", "feedback": "(Rehearsal, no model was asked.) The tests fail:\nwant false",
		"criteria": [{"number": 1, "passed": true, "reasoning": "store/store.go is there, and no test about this fails."},
			{"number": 2, "passed": false, "reasoning": "todoboard/store TestOverdue/today fails."}],
		"tests": [{"test": "todoboard/store TestOverdue/today", "fault": "code_wrong", "analysis": "The test says what a criterion says; the code does something else."}]}`, text)
	for _, in := range []director.ReviewInput{
		{Criteria: []director.Criterion{{Number: 1}}},
		{Criteria: []director.Criterion{{Number: 1}}, Artifact: director.Artifact{Size: 1}, Checks: &director.CheckResult{Output: "no test ran"}},
	} {
		text, err := review("qa", agent.JSON(in))
		require.NoError(t, err)
		assert.Contains(t, text, `"passed":false,"reasoning":"It is not there, or its tests did not run."`)
	}
}

// A nudge turns the worker; without one it gets there by itself.
func TestNudge(t *testing.T) {
	p, err := readPlay("code_worker.api_build", 1)
	require.NoError(t, err)
	require.Greater(t, p.nudged, 15, "the Guardian looks after 15 calls")
	talk := []providers.Message{{Role: providers.User, Text: "work"}}
	turn := func() string {
		words, next := p.turn(talk)
		talk = append(talk, providers.Message{Role: providers.Assistant, Text: words}, providers.Message{Role: providers.ToolRole})
		if next == nil {
			return "done"
		}
		return next.tool
	}
	for range 15 {
		assert.NotEqual(t, "remove", turn())
	}
	unchecked := slices.Clone(talk)
	talk = append(talk, providers.Message{Role: providers.System, Text: "nudge"})
	assert.Equal(t, "remove", turn())
	assert.Contains(t, talk[len(talk)-2].Text, "Nobody asked for a login")
	assert.Equal(t, "write_file", turn())
	talk = unchecked
	for range p.nudged - 15 {
		assert.Equal(t, "write_file", turn())
	}
	assert.Equal(t, "remove", turn())
}

func TestGuardianSeesALogin(t *testing.T) {
	see := func(calls ...string) string {
		in := director.AssessInput{Messages: []director.Said{{Role: "assistant", Tools: calls}, {Role: "tool", Text: "written"}}}
		text, err := watch("assess", agent.JSON(in))
		require.NoError(t, err)
		return text
	}
	assert.Contains(t, see(`write_file {"path":"auth/user.go"}`), `"alignment": 30`)
	assert.Contains(t, see(`write_file {"path":"api/api.go"}`), `"alignment": 95`)
	assert.Contains(t, see(), `"alignment": 95`)
}

// The name of the board comes from a person, by way of a file.
func TestBoardName(t *testing.T) {
	p := &play{steps: []step{{"write_file", input{Path: "web/index.html", Content: "<h1>{{board name}}</h1>"}}}, end: "{}"}
	for said, want := range map[string]string{
		"# Page\n\nBoard name: Tea & <b>Cake</b>\n":            "<h1>Tea &amp; &lt;b&gt;Cake&lt;/b&gt;</h1>",
		"x\n<data name=\"guidance\">\nMy \"board\"\n</data>\n": "<h1>My &#34;board&#34;</h1>",
		"": "<h1>Todo Board</h1>",
	} {
		resp, err := actor{p, 0}.Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.ToolRole, Text: said}}})
		require.NoError(t, err)
		assert.Contains(t, string(resp.ToolCalls[0].Input), want)
	}
}

func TestBadPlays(t *testing.T) {
	_, err := readPlay("nobody.nothing", 2)
	require.EqualError(t, err, "the script has nothing for nobody.nothing at attempt 2")
	var p play
	assert.EqualError(t, p.add("x", "sing a song", ""), `"sing a song" is no section`)
	assert.EqualError(t, p.add("x", "edit a.go", "old"), "edit a.go: no line ====")
	assert.EqualError(t, p.add("code_worker.db_build", "write a.go as in 1", ""), "attempt 1 does not write a.go")
}

func TestSpec(t *testing.T) {
	areas := spec()
	assert.Len(t, areas, 3)
	assert.JSONEq(t, `{"layout": "3-column-kanban", "colors": {"overdue": "#ef4444"}}`, string(areas["ui"]))
}
