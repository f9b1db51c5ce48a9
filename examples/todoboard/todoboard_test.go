package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
)

var tool = clitest.Program{Name: program, Run: todoboard}

// in runs a command in a folder and returns what it writes.
func in(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return strings.TrimSpace(string(out))
}

// One board: without an answer, at a tiny terminal, the run is suspended; a second start
// resumes it at a terminal with typed answers; a third one shows the report again.
func TestTodoBoard(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds a server in a repository")
	}
	dir := t.TempDir()
	repo, db, file := filepath.Join(dir, "my repo"), filepath.Join(dir, "b.db"), filepath.Join(dir, "o.json")
	args := []string{"-dir", repo, "-db", db, "-json", file, "-pace", "0"}

	unanswered := tool.Terminal(t.Context(), 30, 5, args...)
	assert.Equal(t, cli.Failed, unanswered.Code)
	assert.Regexp(t, `^todoboard: a person is asked: .*What shall the board be called\?.*: no answer is given: use -answer, or a terminal: `+
		`suspended run todoboard-\w+ with \d+ recorded answers in .*b.db: start todoboard with the same request again to continue\n$`, unanswered.Err)
	assert.Contains(t, unanswered.Drawn, "agents: REHEARSAL. No model is asked")
	assert.Contains(t, unanswered.Drawn, "from a script that was written")
	assert.Contains(t, unanswered.Drawn, "  … and ", "the board is higher than the terminal")
	id := regexp.MustCompile(`run (todoboard-\w+) in`).FindStringSubmatch(unanswered.Drawn)[1]
	before := clitest.Log(t, db, id)

	typing := tool
	typing.In = "\nTea & <Cake>\n"
	got := typing.Terminal(t.Context(), 72, 18, args...)
	require.Equal(t, 0, got.Code, "%s\n%s", got.Err, got.Out)
	assert.Contains(t, got.Drawn, "resumed run "+id)
	assert.Contains(t, got.Drawn, "answered: Tea & <Cake>")
	assert.Regexp(t, `  working, .*1 ACTIVE`, got.Drawn, "the board is shown during the run")
	assert.Regexp(t, `    ACTIVE +api_build +attempt 1, DRIFTING`, got.Drawn)
	assert.Contains(t, got.Out, "completed: 9 of 9 tasks complete")
	log := clitest.Log(t, db, id)
	assert.Equal(t, before, log[:len(before)], "what was recorded stays")

	t.Run("B127 what happened", func(t *testing.T) { happened(t, log) })
	t.Run("BC68 the board", func(t *testing.T) { outcome(t, file) })
	t.Run("BA117 the repository", func(t *testing.T) { repository(t, repo, "Tea &amp; &lt;Cake&gt;") })
	t.Run("BC51 what was built needs the standard library alone, and keeps todos in a file", func(t *testing.T) {
		assert.Equal(t, "todoboard", in(t, repo, "go", "list", "-m", "all"))
		assert.Contains(t, in(t, repo, "go", "list", "-deps", "./store"), "\nos\n")
	})
	t.Run("the report again", func(t *testing.T) {
		again := tool.Start(t.Context(), args...)
		require.Equal(t, 0, again.Code, again.Err)
		assert.Contains(t, again.Out, "run "+id+" ended earlier: this is its report")
		assert.Contains(t, again.Out, "  COMPLETE      views_build  attempt 2, merged ")
		assert.Contains(t, again.Out, "git -C '"+repo+"' log --graph --oneline")
	})
	t.Run("another board wants another folder", func(t *testing.T) {
		fresh := tool.Start(t.Context(), append(args, "-new")...)
		assert.Equal(t, cli.BadUsage, fresh.Code)
		assert.Contains(t, fresh.Err, "is not empty, and a run begins with an empty one")
	})
}

// happened looks for all that is to be seen in one run.
func happened(t *testing.T, log []runlog.Record) {
	t.Helper()
	var all strings.Builder
	for _, rec := range log {
		for _, line := range lines(rec) {
			all.WriteString(line + "\n")
		}
	}
	for _, want := range []string{
		`db_build: review of attempt 1: FAIL: .*due "2026-03-31", todo: Overdue\(2026-03-31\) = true, want false`,
		`db_build: code_worker works, attempt 2`, `db_build: review of attempt 2: PASS`,
		`(api_build|db_test): not merged, merge_conflict: internal/boardtest/boardtest.go`,
		`(api_build|db_test): \w+ works, attempt 2`,
		`api_build: the Guardian sees 30% on the task: DRIFTING`, `api_build: nudged, direct`,
		`views_plan: suggestion approved: readme`, `readme: writer_worker works, attempt 1`,
		`views_plan: NEEDS_CLARIFICATION`, `views_plan: a person is asked: `, `views_plan: a person says retry`,
		`views_build: BLOCKED: waiting_subtask`, `views_dates: research_worker works, attempt 1`, `views_build: code_worker works, attempt 2`,
	} {
		assert.Regexp(t, `(?m)^`+want, all.String())
	}
	for call, n := range clitest.Answers(log) {
		assert.Equal(t, 1, n, "%s is on record once", call)
	}
}

// outcome reads the file of -json.
func outcome(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out director.Outcome
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&out))
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Empty(t, out.Warnings)
	assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 9}, out.Summary)
	retries, conflicts := map[string]int{}, 0
	for _, task := range out.Board.Tasks {
		if task.RetryCount > 0 {
			retries[task.ID] = task.RetryCount
		}
		conflicts += task.ConflictCount
	}
	assert.Equal(t, map[string]int{"db_build": 1}, retries, "a conflict, a question and a pause cost no retry")
	assert.Equal(t, 1, conflicts)
	assert.Len(t, out.Board.DesignLog, 3)
	assert.JSONEq(t, string(spec()["business_rules"]), string(out.Board.Spec["business_rules"]))
}

// repository looks at what was built.
func repository(t *testing.T, repo, name string) {
	t.Helper()
	merges := in(t, repo, "git", "log", "--merges", "--format=%s", "main")
	for _, task := range []string{"db_plan", "db_build", "db_test", "api_plan", "api_build", "views_plan", "views_build", "views_dates", "readme"} {
		assert.Equal(t, 1, strings.Count(merges, "/"+task+"/"), "one merge of %s: %s", task, merges)
	}
	assert.Equal(t, "main", in(t, repo, "git", "branch", "--format=%(refname:short)"), "no branch is left")
	assert.Len(t, strings.Split(in(t, repo, "git", "worktree", "list"), "\n"), 1, "no worktree is left")
	assert.Empty(t, in(t, repo, "git", "status", "--porcelain"))
	assert.NoDirExists(t, filepath.Join(repo, "auth"), "the login is removed")
	page, err := os.ReadFile(filepath.Join(repo, "web", "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "<h1>"+name+"</h1>")
	assert.Contains(t, in(t, repo, "go", "test", "./..."), "ok  \ttodoboard/store")
	in(t, repo, "go", "vet", "./...")
}

func TestReply(t *testing.T) {
	task := orchestrator.Question{Options: []string{director.ActionRetry, director.ActionEdit, director.ActionAccept, director.ActionAbandon}}
	external := orchestrator.Question{Options: []string{director.ActionProvided, director.ActionAbandon}}
	for _, tt := range []struct {
		q    orchestrator.Question
		said string
		want director.Answer
	}{
		{task, "Tea", director.Answer{Action: director.ActionRetry, Guidance: "Tea"}},
		{task, "Accept", director.Answer{Action: director.ActionAccept}},
		{external, "the key is in the safe", director.Answer{Action: director.ActionProvided, Guidance: "the key is in the safe"}},
		{external, "abandon", director.Answer{Action: director.ActionAbandon}},
	} {
		got, err := reply(tt.q, tt.said)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
	_, err := reply(task, "edit")
	require.ErrorContains(t, err, "edit")
	_, err = reply(orchestrator.Question{Options: []string{"stop"}}, "words")
	require.EqualError(t, err, `want one of ["stop"]`)
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	full, text := filepath.Join(dir, "full"), filepath.Join(dir, "notes.txt")
	require.NoError(t, os.Mkdir(full, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(full, "a"), nil, 0o600))
	require.NoError(t, os.WriteFile(text, []byte("These are notes and no database at all.\n"), 0o600))
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"unknown flag", []string{"-nonsense"}, 2, "not defined: -nonsense (todoboard -h lists the flags)"},
		{"words", []string{"a", "shop"}, 2, `"a shop" is no flag: what is built is fixed`},
		{"no folder", []string{"-dir", ""}, 2, "-dir is empty, want a folder"},
		{"folder with files", []string{"-dir", full}, 2, "is not empty, and a run begins with an empty one: name another"},
		{"file as folder", []string{"-dir", text}, 2, "-dir: "},
		{"text as db", []string{"-db", text}, 1, text},
		{"directory as outcome", []string{"-json", dir}, 2, "is a directory"},
		{"negative calls", []string{"-calls", "-1"}, 2, "-calls is -1, want 0 or more"},
		{"no key", []string{"-model", "anthropic:m", "-price", "1,2"}, 2, "ANTHROPIC_API_KEY is empty"},
		{"price without a model", []string{"-price", "1,2"}, 2, "-model, which is missing"},
		{"budget of a model without a price", []string{"-model", "acme:m", "-base-url", "http://localhost", "-budget", "1"}, 2, "-budget needs -price"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Empty(t, tool.Refuses(t, "", tt.code, tt.want, tt.args...), "it has not begun")
		})
	}
}

func TestHelp(t *testing.T) {
	got := tool.Start(t.Context(), "-h")
	assert.Equal(t, 0, got.Code)
	for _, name := range []string{"-dir", "-answer", "-cache", "-db", "-json", "-model", "-base-url", "-key-env", "-price", "-budget", "-timeout", "-calls", "-pace", "-new"} {
		assert.Regexp(t, "(?m)^  "+name+"( |$)", got.Out)
	}
}
