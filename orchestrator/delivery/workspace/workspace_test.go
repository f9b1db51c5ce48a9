package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/git/gittest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

// buildCache is the cache of this machine: a cold one would build the standard library.
var buildCache = sync.OnceValues(func() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out)), err
})

// config is a workspace with a project that passes.
func config(t *testing.T) workspace.Config {
	t.Helper()
	cache, err := buildCache()
	require.NoError(t, err)
	above := t.TempDir()
	c := workspace.Config{
		Dir: filepath.Join(above, "project"), State: filepath.Join(above, "state"), Time: time.Minute,
		Env: []string{"GOCACHE=" + cache}, Writable: []string{cache},
	}
	for name, content := range map[string]string{
		"go.mod":      "module example.org/sum\n\ngo 1.26\n",
		"sum.go":      "package sum\n\n// Sum adds.\nfunc Sum(a, b int) int { return a + b }\n",
		"sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Error(\"not 3\")\n\t}\n}\n",
	} {
		write(t, c, name, content)
	}
	return c
}

func write(t *testing.T, c workspace.Config, name, content string) {
	t.Helper()
	path := filepath.Join(c.Dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func content(t *testing.T, c workspace.Config, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Dir, name))
	require.NoError(t, err)
	return string(data)
}

func open(t *testing.T, c workspace.Config) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	return w
}

// call asks w as a flow does, under a key if there is one.
func call(t *testing.T, w *workspace.Workspace, key, op string, in any) (agent.Response, error) {
	t.Helper()
	ctx := t.Context()
	if key != "" {
		ctx = agent.WithInfo(ctx, agent.Info{Key: key})
	}
	req := agent.Request{Op: op}
	if in != nil {
		req.Input = agent.JSON(in)
	}
	return w.Call(ctx, req)
}

func must(t *testing.T, w *workspace.Workspace, op string, in, out any) {
	t.Helper()
	resp, err := call(t, w, "", op, in)
	require.NoError(t, err)
	if out != nil {
		require.NoError(t, json.Unmarshal(resp.Data, out))
	}
}

func snapshot(t *testing.T, w *workspace.Workspace, since string) delivery.Snapshot {
	t.Helper()
	var s delivery.Snapshot
	must(t, w, delivery.OpSnapshot, delivery.SnapshotRequest{Since: since}, &s)
	return s
}

func test(t *testing.T, w *workspace.Workspace) delivery.TestResult {
	t.Helper()
	var r delivery.TestResult
	must(t, w, delivery.OpTest, nil, &r)
	return r
}

func TestSnapshotAndRestore(t *testing.T) {
	c := config(t)
	write(t, c, ".gitignore", "*\n")
	write(t, c, ".gitattributes", "*.txt text eol=crlf ident filter=x\n")
	write(t, c, "a.txt", "one\r\ntwo\n$Id$\n\x00\xff")
	write(t, c, ".git/config", "the user's own")
	require.NoError(t, os.Chmod(filepath.Join(c.Dir, "a.txt"), 0o755))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(c.Dir, "link")))
	w := open(t, c)
	first := snapshot(t, w, "")
	assert.Regexp(t, "^[0-9a-f]{40}$", first.ID)
	assert.Empty(t, first.Diff)
	assert.Equal(t, first.ID, snapshot(t, w, "").ID, "equal states have equal IDs")

	must(t, w, delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{
		{Path: "/sum.go", Content: "package sum\n"}, {Path: "deep/er/new.go", Content: "package er\n"}, {Path: "link", Delete: true}, {Path: "none", Delete: true},
	}}, nil)
	write(t, c, "ignored.log", "x")
	require.NoError(t, os.RemoveAll(filepath.Join(c.Dir, "a.txt")))
	require.NoError(t, os.MkdirAll(filepath.Join(c.Dir, "a.txt", "now a folder"), 0o755))
	second := snapshot(t, w, first.ID)
	assert.NotEqual(t, first.ID, second.ID)
	assert.Contains(t, second.Diff, "+++ b/deep/er/new.go\n@@ -0,0 +1 @@\n+package er\n")
	assert.Contains(t, second.Diff, "-// Sum adds.\n")
	assert.Contains(t, second.Diff, "b/ignored.log", "nothing is ignored")

	write(t, c, "later.log", "never in a snapshot, and ignored")
	must(t, w, delivery.OpRestore, first, nil)
	assert.NoFileExists(t, filepath.Join(c.Dir, "later.log"))
	assert.Equal(t, "one\r\ntwo\n$Id$\n\x00\xff", content(t, c, "a.txt"), "byte for byte")
	info, err := os.Stat(filepath.Join(c.Dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
	assert.NoDirExists(t, filepath.Join(c.Dir, "deep"))
	assert.NoFileExists(t, filepath.Join(c.Dir, "ignored.log"))
	to, err := os.Readlink(filepath.Join(c.Dir, "link"))
	require.NoError(t, err)
	assert.Equal(t, "a.txt", to)
	assert.Equal(t, "the user's own", content(t, c, ".git/config"), "another's repository is left alone")
	assert.Equal(t, first.ID, snapshot(t, w, "").ID)

	must(t, w, delivery.OpRestore, second, nil)
	assert.Equal(t, "package er\n", content(t, c, "deep/er/new.go"), "forward, too")
	assert.Empty(t, snapshot(t, w, second.ID).Diff)
}

// What git does not keep.
func TestPermissionsAndEmptyFolders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions")
	}
	modes := map[string]os.FileMode{
		".": 0o751, "key.pem": 0o600, "run.sh": 0o710, "readable": 0o444, "closed": 0o500, "closed/in.txt": 0o640,
		"empty": 0o700, "deep/er/empty": 0o755, "two\nlines": 0o604,
	}
	set := func(t *testing.T) workspace.Config {
		t.Helper()
		c := config(t)
		for name := range modes {
			if strings.HasSuffix(name, "empty") {
				require.NoError(t, os.MkdirAll(filepath.Join(c.Dir, name), 0o755))
			} else if name != "." && name != "closed" {
				write(t, c, name, name)
			}
		}
		for name, mode := range modes { // none is inaccessible to its owner
			require.NoError(t, os.Chmod(filepath.Join(c.Dir, name), mode))
		}
		t.Cleanup(func() { assert.NoError(t, os.Chmod(filepath.Join(c.Dir, "closed"), 0o700)) }) //nolint:gosec // so that it can be removed
		return c
	}
	check := func(t *testing.T, c workspace.Config) {
		t.Helper()
		for name, mode := range modes {
			info, err := os.Stat(filepath.Join(c.Dir, name))
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode().Perm(), name)
		}
	}
	const change = `chmod 755 closed && for f in key.pem run.sh readable closed/in.txt two*; do rm "$f" && echo x >"$f"; done && rmdir empty && rm -r deep && chmod 700 . && mkdir new`
	t.Run("SC57 they are as before after each run of tests", func(t *testing.T) {
		c := set(t)
		c.Test = []string{"sh", "-c", change + " && echo '" + passes + "'"}
		w := open(t, c)
		for range 2 {
			got := test(t, w)
			assert.True(t, got.Passed, got.Reason)
			check(t, c)
			assert.NoDirExists(t, filepath.Join(c.Dir, "new"))
		}
	})
	t.Run("SC57 a restore has them, too", func(t *testing.T) {
		c := set(t)
		w := open(t, c)
		before := snapshot(t, w, "")
		sh := exec.CommandContext(t.Context(), "sh", "-c", change)
		sh.Dir = c.Dir
		require.NoError(t, sh.Run())
		assert.NotEqual(t, before.ID, snapshot(t, w, "").ID)
		must(t, w, delivery.OpRestore, before, nil)
		check(t, c)
		assert.NoDirExists(t, filepath.Join(c.Dir, "new"))
		assert.Equal(t, before.ID, snapshot(t, w, "").ID)
	})
	t.Run("SC57 a snapshot of an older version has none", func(t *testing.T) {
		c := set(t)
		w := open(t, c)
		before := snapshot(t, w, "")
		require.NoError(t, os.RemoveAll(filepath.Join(c.State, "modes")))
		must(t, w, delivery.OpRestore, before, nil)
		assert.Equal(t, "key.pem", content(t, c, "key.pem"))
	})
}

func TestApplyRefuses(t *testing.T) {
	c := config(t)
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(c.Dir, "out")))
	w := open(t, c)
	before := snapshot(t, w, "")
	for _, path := range []string{"../x", "a/../../x", ".git/hooks/pre-commit", "sub/.GIT/config", `..\x`, "out/x", "", "C:/x", "a\x00b"} {
		t.Run("SC57 S42 "+path, func(t *testing.T) {
			_, err := call(t, w, "", delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{{Path: "fine.go", Content: "package sum\n"}, {Path: path, Content: "x"}}})
			require.ErrorIs(t, agent.ErrorOf(err), delivery.ErrUnsafePath)
			assert.ErrorContains(t, err, "files[1]: ")
			assert.Equal(t, before.ID, snapshot(t, w, "").ID, "nothing was written")
		})
	}
	_, err := call(t, w, "", delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{{Path: "a.go", Content: "1"}, {Path: "b/../A.go", Content: "2"}}})
	require.ErrorIs(t, agent.ErrorOf(err), delivery.ErrUnsafePath)
	require.ErrorContains(t, err, `files[1] "A.go" is files[0], too`)
	_, err = call(t, w, "", delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{{Path: "a.go", Content: "1", Delete: true}}})
	require.EqualError(t, err, `workspace: apply: files[0] "a.go" has content, and is to be deleted`)
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestBadRequests(t *testing.T) {
	c := config(t)
	w := open(t, c)
	for _, tt := range []struct {
		op   string
		in   string
		want string
	}{
		{"", "", `workspace: : the Op is "", want snapshot, apply, test or restore`},
		{"apply", `{"file":[]}`, `workspace: apply: read Input: json: unknown field "file"`},
		{"restore", "", `workspace: restore: "" is no ID of a snapshot`},
		{"restore", `{"id":"--help"}`, `workspace: restore: "--help" is no ID of a snapshot`},
		{"restore", `{"id":"0123456789012345678901234567890123456789"}`, "workspace: restore: there is no snapshot 0123456789012345678901234567890123456789 here"},
		{"snapshot", `{"since":"HEAD"}`, `workspace: snapshot: "HEAD" is no ID of a snapshot`},
	} {
		_, err := w.Call(t.Context(), agent.Request{Op: tt.op, Input: json.RawMessage(tt.in)})
		require.ErrorContains(t, err, tt.want)
	}
	write(t, c, "sub/.git/HEAD", "ref: refs/heads/main\n")
	for _, dir := range []string{"objects", "refs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(c.Dir, "sub/.git", dir), 0o755))
	}
	_, err := call(t, w, "", delivery.OpSnapshot, nil)
	require.Error(t, err, "a repository inside of the project cannot be kept")

	c = config(t)
	w = open(t, c)
	write(t, c, "whole/x.go", "package whole\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = filepath.Join(c.Dir, "whole")
		require.NoError(t, git.Run())
	}
	_, err = call(t, w, "", delivery.OpSnapshot, nil)
	require.EqualError(t, err, "workspace: snapshot: whole is a repository of its own")
}

// A git that was killed leaves its locks.
func TestLocksOfGit(t *testing.T) {
	t.Run("SC57 SC46 they go with the next Open", func(t *testing.T) {
		for _, lock := range []string{"index.lock", "config.lock", "HEAD.lock"} {
			for _, made := range []bool{true, false} { // the repository was made, or being made
				c := config(t)
				if made {
					require.NoError(t, open(t, c).Close())
				}
				left := filepath.Join(c.State, "snapshots.git", lock)
				require.NoError(t, os.MkdirAll(filepath.Dir(left), 0o700))
				require.NoError(t, os.WriteFile(left, nil, 0o600))
				w := open(t, c)
				assert.NoFileExists(t, left)
				snapshot(t, w, "")
			}
		}
	})
}

func TestKilledGit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	t.Run("SC57 SC46 what a git has not done that was killed, the next one does", func(t *testing.T) {
		git := gittest.New(t)
		for n, killed := 1, true; killed; n++ {
			c := config(t)
			w := open(t, c)
			git.At(n)
			before := snapshot(t, w, "")
			killed = git.Killed()
			require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "x.txt"), []byte("x"), 0o600))
			git.At(n)
			after := snapshot(t, w, before.ID)
			killed = git.Killed() || killed
			assert.Contains(t, after.Diff, "+x", n)
			git.At(n)
			must(t, w, delivery.OpRestore, before, nil)
			killed = git.Killed() || killed
			assert.NoFileExists(t, filepath.Join(c.Dir, "x.txt"), n)
		}
	})
	t.Run("SC57 SC46 its lock stops no operation", func(t *testing.T) {
		c := config(t)
		w := open(t, c)
		before := snapshot(t, w, "")
		require.NoError(t, os.WriteFile(filepath.Join(c.State, "snapshots.git", "index.lock"), nil, 0o600))
		assert.Equal(t, before.ID, snapshot(t, w, "").ID)
	})
}

func TestOpenRefuses(t *testing.T) {
	_, err := workspace.Open(t.Context(), workspace.Config{
		Dir: "/no/such/folder", Test: []string{"/usr/bin/go", "test", "./..."}, Env: []string{"SECRET"}, Time: -1, Processes: -1,
	})
	require.EqualError(t, err, strings.Join([]string{
		`workspace: Dir is "/no/such/folder", want a folder that exists`,
		`State is empty, want a folder outside of Dir`,
		`Test is ["/usr/bin/go" "test" "./..."], want -json in it`,
		`Test is ["/usr/bin/go" "test" "./..."], want -count=1 in it`,
		`Env[0] is no KEY=value`,
		`Time is -1ns, want 0 or more`,
		`Processes is -1, want 0 or more`,
	}, "\n"))

	c := config(t)
	for _, state := range []string{c.Dir, filepath.Join(c.Dir, "state"), filepath.Dir(c.Dir)} {
		inside := c
		inside.State = state
		_, err = workspace.Open(t.Context(), inside)
		require.ErrorContains(t, err, "want one that is neither inside of Dir nor around it")
	}

	w, err := workspace.Open(t.Context(), c)
	require.NoError(t, err)
	_, err = workspace.Open(t.Context(), c)
	require.ErrorIs(t, err, workspace.ErrInUse)
	require.ErrorContains(t, err, "workspace: another process uses ")
	require.NoError(t, w.Close())
	open(t, c)
}

func TestOnceByKey(t *testing.T) {
	c := config(t)
	w := open(t, c)
	files := func(content string) delivery.ApplyRequest {
		return delivery.ApplyRequest{Files: []delivery.File{{Path: "x.txt", Content: content}}}
	}
	_, err := call(t, w, "run/1", delivery.OpApply, files("one"))
	require.NoError(t, err)
	write(t, c, "x.txt", "changed since")
	_, err = call(t, w, "run/1", delivery.OpApply, files("one"))
	require.NoError(t, err)
	assert.Equal(t, "changed since", content(t, c, "x.txt"), "SC46 the same call is not made again")
	_, err = call(t, w, "run/1", delivery.OpApply, files("of another run"))
	require.NoError(t, err)
	assert.Equal(t, "of another run", content(t, c, "x.txt"), "SC46 another one of that key is")
	first, err := call(t, w, "run/2", delivery.OpSnapshot, nil)
	require.NoError(t, err)
	_, err = call(t, w, "run/3", delivery.OpApply, files("two"))
	require.NoError(t, err)
	again, err := call(t, w, "run/2", delivery.OpSnapshot, nil)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	_, err = call(t, w, "run/4", delivery.OpApply, delivery.ApplyRequest{Files: []delivery.File{{Path: ".."}}})
	require.Error(t, err)
	_, err = call(t, w, "run/4", delivery.OpApply, files("three"))
	require.NoError(t, err, "a failure is not recorded")

	require.NoError(t, w.Close())
	w, err = workspace.Open(t.Context(), c)
	require.NoError(t, err)
	again, err = call(t, w, "run/2", delivery.OpSnapshot, nil)
	require.NoError(t, err)
	assert.Equal(t, first, again, "in another process, too")
}
