package workbench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/git/gittest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/director/workbench"
)

// state is a folder for all tests of the package, so that Go's packages are compiled once.
var state string

func TestMain(m *testing.M) {
	var err error
	if state, err = os.MkdirTemp("", "workbench"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(state); err != nil {
		panic(err)
	}
	os.Exit(code) //nolint:forbidigo // of a TestMain
}

// open returns a workbench for a repository with those files in its one commit, and that
// commit.
func open(t *testing.T, c workbench.Config, files map[string]string) (w *workbench.Workbench, repo, commit string) {
	t.Helper()
	repo = t.TempDir()
	write(t, repo, files)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "t"}} {
		git(t, repo, args...)
	}
	c.Repo, c.State = repo, state
	w, err := workbench.Open(c)
	require.NoError(t, err)
	return w, repo, git(t, repo, "rev-parse", "HEAD")
}

func git(t *testing.T, repo string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = repo
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// call calls a tool in a folder.
func call(t *testing.T, w *workbench.Workbench, dir, tool, input string) (string, error) {
	t.Helper()
	tools, err := w.Tools()
	require.NoError(t, err)
	for _, candidate := range tools {
		if candidate.Name == tool {
			return candidate.Call(trees.WithPlace(t.Context(), trees.Place{Path: dir}), json.RawMessage(input))
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return "", nil
}

func TestFiles(t *testing.T) {
	w, repo, _ := open(t, workbench.Config{}, map[string]string{"a.txt": "one two two\n", "old/b/c.txt": "c", "old/d.txt": "d"})
	must := func(tool, input, want string) {
		t.Helper()
		got, err := call(t, w, repo, tool, input)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	must("list_files", `{}`, "a.txt\nold/b/c.txt\nold/d.txt")
	must("write_file", `{"path":"/new/e.txt","content":"e"}`, "written")
	must("read_file", `{"path":"new/e.txt"}`, "e")
	must("edit_file", `{"path":"a.txt","old":"one","new":"1"}`, "replaced")
	must("read_file", `{"path":"a.txt"}`, "1 two two\n")
	must("remove", `{"path":"old"}`, "removed")
	must("remove", `{"path":"old"}`, "removed")
	must("list_files", `{}`, "a.txt\nnew/e.txt")
	_, err := call(t, w, repo, "edit_file", `{"path":"a.txt","old":"two","new":"2"}`)
	require.EqualError(t, err, "old is there 2 times, want a text that is there once: read the file")
	must("write_file", `{"path":"empty","content":""}`, "written")
	_, err = call(t, w, repo, "edit_file", `{"path":"empty","old":"","new":"x"}`)
	require.Error(t, err)
}

func TestWhatModelsReadIsCut(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 8<<10) // 128 KiB
	w, repo, commit := open(t, workbench.Config{Commands: map[string][]string{"cat": {"cat", "long.txt"}}}, map[string]string{"long.txt": long})
	const most = 60<<10 + 200 // and a note
	read, err := call(t, w, repo, "read_file", `{"path":"long.txt"}`)
	require.NoError(t, err)
	assert.Less(t, len(read), most)
	ran, err := call(t, w, repo, "run", `{"command":"cat"}`)
	require.NoError(t, err)
	assert.Less(t, len(ran), most)
	assert.True(t, strings.HasSuffix(ran, "(exit code 0)"))
	assert.Less(t, len(check(t, w, commit, "cat", "long.txt").Output), most)
	files := map[string]string{}
	for i := range 999 {
		files[fmt.Sprintf("f%03d", i)] = ""
	}
	write(t, repo, files)
	all, err := call(t, w, repo, "list_files", `{}`)
	require.NoError(t, err)
	assert.NotContains(t, all, "more")
	write(t, repo, map[string]string{"z": ""})
	all, err = call(t, w, repo, "list_files", `{}`)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(all, "\nlong.txt\n(and 1 more)"))
}

func TestNothingOutsideOfTheWorktree(t *testing.T) {
	w, repo, _ := open(t, workbench.Config{}, nil)
	secret := t.TempDir()
	write(t, secret, map[string]string{"s": "secret"})
	require.NoError(t, os.Symlink(secret, filepath.Join(repo, "link")))
	for _, path := range []string{"../s", ".git/config", "a/.GIT/hooks/x", "link/s", `..\\s`, ""} {
		for _, tool := range []string{"read_file", "write_file", "edit_file", "remove"} {
			got, err := call(t, w, repo, tool, `{"path":"`+path+`","content":"x","old":"secret","new":"x"}`)
			assert.Error(t, err, "%s %s", tool, path)
			assert.NotContains(t, got, "secret")
		}
	}
	kept, err := os.ReadFile(filepath.Join(secret, "s"))
	require.NoError(t, err)
	assert.Equal(t, "secret", string(kept))
}

func TestToolsNeedAWorktree(t *testing.T) {
	w, _, _ := open(t, workbench.Config{}, nil)
	tools, err := w.Tools()
	require.NoError(t, err)
	require.Len(t, tools, 5, "no run: there are no commands")
	_, err = tools[0].Call(context.Background(), json.RawMessage(`{}`))
	require.EqualError(t, err, "this worker has no worktree")

	w, _, _ = open(t, workbench.Config{Commands: map[string][]string{"env": {"env"}}}, nil)
	missing := filepath.Join(t.TempDir(), "removed")
	for tool, input := range map[string]string{"run": `{"command":"env"}`, "list_files": `{}`, "read_file": `{"path":"x"}`, "write_file": `{"path":"x","content":"y"}`, "remove": `{"path":"x"}`} {
		_, err := call(t, w, missing, tool, input)
		require.ErrorContains(t, err, "find the worktree: ", tool)
		assert.NoDirExists(t, missing)
	}
}

func TestRun(t *testing.T) {
	t.Setenv("API_KEY", "sk-secret")
	w, repo, _ := open(t, workbench.Config{Commands: map[string][]string{
		"env": {"env"}, "fail": {"sh", "-c", "echo no; exit 3"},
	}, Env: []string{"COLOR=red"}}, nil)
	got, err := call(t, w, repo, "run", `{"command":"env"}`)
	require.NoError(t, err)
	assert.Contains(t, got, "COLOR=red")
	assert.Contains(t, got, "GOPROXY=off")
	assert.NotContains(t, got, "sk-secret")
	got, err = call(t, w, repo, "run", `{"command":"fail"}`)
	require.NoError(t, err)
	assert.Equal(t, "no\n(exit code 3)", got)
	_, err = call(t, w, repo, "run", `{"command":"rm -rf /"}`)
	require.EqualError(t, err, `there is no command "rm -rf /"; there are: env, fail`)
}

// check runs a command on a commit.
func check(t *testing.T, w *workbench.Workbench, commit string, command ...string) director.CheckResult {
	t.Helper()
	resp, err := w.Call(t.Context(), agent.Request{Op: "check", Input: agent.JSON(director.CheckInput{Task: "t", Commit: commit, Command: command})})
	require.NoError(t, err)
	var out director.CheckResult
	require.NoError(t, json.Unmarshal(resp.Data, &out))
	left, err := os.ReadDir(filepath.Join(state, "tmp"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
	return out
}

var gotest = []string{"go", "test", "-json", "-count=1", "./..."}

func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds programs and starts git often")
	}
	module := func(files map[string]string) map[string]string {
		files["go.mod"] = "module m\n\ngo 1.26\n"
		return files
	}
	test := func(body string) string {
		return "package m\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Log(1) }\n\nfunc TestB(t *testing.T) {\n\tt.Run(\"one\", func(t *testing.T) {" + body + "})\n}\n"
	}
	tests := []struct {
		name   string
		files  map[string]string
		failed []string
		ran    int
		output string
	}{
		{"passes", map[string]string{"m_test.go": test("")}, nil, 3, ""},
		{"one of a table fails", map[string]string{"m_test.go": test(`t.Error("it is 2")`)}, []string{"m TestB/one"}, 3, "m_test.go:8: it is 2"},
		{"does not build", map[string]string{"m_test.go": test(`nonsense`)}, []string{"m [m.test]"}, 0, "undefined: nonsense"},
		{"no test", map[string]string{"m.go": "package m\n"}, nil, 0, "no test ran"},
	}
	for _, tt := range tests {
		t.Run("BC61 "+tt.name, func(t *testing.T) {
			w, repo, commit := open(t, workbench.Config{}, module(tt.files))
			write(t, repo, map[string]string{"m_test.go": "not what was committed"})
			got := check(t, w, commit, gotest...)
			assert.Equal(t, tt.failed, got.Failed)
			assert.Equal(t, tt.ran, got.Ran)
			assert.Equal(t, tt.name == "passes", got.Passed)
			assert.Less(t, got.Seconds, 600.0, "these are seconds, not nanoseconds")
			assert.Positive(t, got.Seconds)
			assert.Contains(t, got.Output, tt.output)
			assert.NotContains(t, got.Output, state, "paths of this machine are of no use")
		})
	}
}

func TestCheckOfAnyCommand(t *testing.T) {
	w, repo, commit := open(t, workbench.Config{Time: time.Second}, map[string]string{"a.txt": "a", "sub/b.txt": "b"})
	got := check(t, w, commit, "sh", "-c", "ls -AR; exit 1")
	assert.False(t, got.Passed)
	assert.Equal(t, "exit code 1\n.:\na.txt\nsub\n\n./sub:\nb.txt", got.Output)
	assert.True(t, check(t, w, commit, "test", "-f", "sub/b.txt").Passed)
	assert.Equal(t, "exit code 1\na.txt", check(t, w, commit, "sh", "-c", "echo $PWD/a.txt; exit 1").Output)
	left := filepath.Join(state, "tmp", "left")
	write(t, left, map[string]string{"x": "of a process that was killed"})
	require.NoError(t, os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)))
	assert.True(t, check(t, w, commit, "true").Passed, "which finds the folder empty afterwards")
	assert.Contains(t, check(t, w, commit, "sleep", "20").Output, "the command was killed")
	assert.Empty(t, git(t, repo, "status", "--porcelain"), "the repository is as it was")
	assert.Len(t, strings.Split(git(t, repo, "worktree", "list"), "\n"), 1)
}

func TestProgramOfTheCheckout(t *testing.T) {
	w, repo, _ := open(t, workbench.Config{Commands: map[string][]string{"verify": {"./verify.sh"}}}, map[string]string{"verify.sh": "#!/bin/sh\necho from $0; exit 1\n"})
	require.NoError(t, os.Chmod(filepath.Join(repo, "verify.sh"), 0o755))
	git(t, repo, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-a", "-m", "x")
	got := check(t, w, git(t, repo, "rev-parse", "HEAD"), "./verify.sh")
	assert.Equal(t, "exit code 1\nfrom verify.sh", got.Output)
	said, err := call(t, w, repo, "run", `{"command":"verify"}`)
	require.NoError(t, err)
	assert.Contains(t, said, "verify.sh\n(exit code 1)")
}

func TestRepositoryOfAnotherOwner(t *testing.T) {
	w, _, commit := open(t, workbench.Config{}, map[string]string{"a": "1"})
	gittest.OtherOwner(t, "*")
	assert.True(t, check(t, w, commit, "cat", "a").Passed)
}

func TestLongOutput(t *testing.T) {
	long := []string{"sh", "-c", "seq 1 40000; echo THE REASON; exit 1"}
	w, repo, commit := open(t, workbench.Config{Commands: map[string][]string{"long": long}}, nil)
	said, err := call(t, w, repo, "run", `{"command":"long"}`)
	require.NoError(t, err)
	for _, text := range []string{said, check(t, w, commit, long...).Output} {
		assert.Contains(t, text, "1\n2\n3\n")
		assert.Contains(t, text, "40000\nTHE REASON", "what went wrong is mostly said at the end")
		assert.Regexp(t, `\[cut: \d+ of \d+ bytes\]`, text)
		assert.Less(t, len(text), 62<<10)
	}
}

func TestWhatFailed(t *testing.T) {
	// Events of a package and one below it, each with a test that failed, which ran twice.
	events := `{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m"}
{"Action":"fail","Package":"n"}
{"Action":"fail","Package":"n/sub"}
`
	w, _, commit := open(t, workbench.Config{}, map[string]string{"events": events})
	assert.Equal(t, []string{"m TestA", "n", "n/sub"}, check(t, w, commit, "sh", "-c", "cat events; exit 1").Failed)
}

func TestBadInput(t *testing.T) {
	w, _, _ := open(t, workbench.Config{}, nil)
	for _, req := range []agent.Request{
		{Op: "check", Input: []byte("x")},
		{Op: "check", Input: []byte(`{"commit":"HEAD"}`)},
		{Op: "other", Input: []byte(`{"commit":"HEAD","command":["true"]}`)},
		{Op: "check", Input: []byte(`{"commit":"--all","command":["true"]}`)},
		{Op: "check", Input: []byte(`{"commit":"HEAD","command":["no-such-program"]}`)},
	} {
		_, err := w.Call(t.Context(), req)
		assert.ErrorContains(t, err, "workbench: ", "%s %s", req.Op, req.Input)
	}
	_, err := workbench.Open(workbench.Config{Time: -1, Env: []string{"=x"}, Commands: map[string][]string{"a": nil}})
	require.Error(t, err)
	for _, want := range []string{"want two folders", "Time is -1ns", `Commands["a"] is []`, `Env[0] is "=x"`} {
		assert.ErrorContains(t, err, want)
	}
}

func TestStateAndRepo(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"repo/tmp/mine": "old"})
	link := filepath.Join(top, "link")
	require.NoError(t, os.Symlink(filepath.Join(top, "repo"), link))
	for _, c := range []workbench.Config{
		{Repo: filepath.Join(top, "repo"), State: filepath.Join(top, "repo")},
		{Repo: filepath.Join(top, "repo"), State: top},
		{Repo: filepath.Join(top, "repo"), State: link},
		{Repo: filepath.Join(link, "new"), State: filepath.Join(top, "repo")},
	} {
		_, err := workbench.Open(c)
		require.EqualError(t, err, fmt.Sprintf("workbench: the folder State is %q, want one that is neither Repo nor around it", c.State))
	}
	assert.NoDirExists(t, filepath.Join(top, "home"))
	assert.NoDirExists(t, filepath.Join(top, "repo", "home"))
	for _, state := range []string{filepath.Join(top, "repo", ".state"), filepath.Join(top, "repo-state")} {
		_, err := workbench.Open(workbench.Config{Repo: filepath.Join(top, "repo"), State: state})
		require.NoError(t, err)
	}
}

func TestAFullDiskIsNoVerdict(t *testing.T) {
	full := []string{"sh", "-c", "echo 'link: write: Disk quota exceeded' >&2; exit 1"}
	w, repo, commit := open(t, workbench.Config{Commands: map[string][]string{"link": full}}, nil)
	_, err := w.Call(t.Context(), agent.Request{Op: "check", Input: agent.JSON(director.CheckInput{Task: "t", Commit: commit, Command: full})})
	require.ErrorContains(t, err, "the disk is full")
	_, err = call(t, w, repo, "run", `{"command":"link"}`)
	require.ErrorContains(t, err, "the disk is full", "the worker is told")
}
