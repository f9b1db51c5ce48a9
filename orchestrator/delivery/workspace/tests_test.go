package workspace_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

// passes is what a run writes that passes.
const passes = `{"Action":"pass","Package":"example.org/sum","Test":"TestSum"}`

func TestRuns(t *testing.T) {
	const head = "package sum\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\n"
	tests := []struct {
		name, file, content string
		want                delivery.TestResult // without Kind and Output
		output              []string
	}{
		{"SX9 passes", "more.go", "package sum\n", delivery.TestResult{Passed: true, Ran: 1}, nil},
		{
			"SX9 fails", "bad_test.go", head + "func TestBad(t *testing.T) {\n\tt.Run(\"inner one\", func(t *testing.T) { t.Errorf(\"got %d\", Sum(1, 1)) })\n\tt.Run(\"fine\", func(t *testing.T) {})\n}\n",
			delivery.TestResult{Ran: 4, Reason: "failed: example.org/sum TestBad/inner_one", Issues: []delivery.Issue{{
				Severity: "major", Category: "bug", Location: "example.org/sum TestBad/inner_one",
				Description: "test failed: === RUN   TestBad/inner_one\n    bad_test.go:11: got 2\n--- FAIL: TestBad/inner_one",
			}}},
			[]string{"got 2"},
		},
		{
			"SC52 does not build", "bad.go", "package sum\n\nfunc f() int { return \"x\" }\n",
			delivery.TestResult{Reason: "the code does not build", Issues: []delivery.Issue{{
				Severity: "critical", Category: "bug", Location: "example.org/sum [example.org/sum.test]",
				Description: "build failed: # example.org/sum [example.org/sum.test]\n./bad.go:3:23: cannot use \"x\" (untyped string constant) as int value in return statement",
			}}},
			nil,
		},
		{
			"SC52 no test ran", "sum_test.go", head + "func TestSkipped(t *testing.T) { t.Skip() }\n",
			delivery.TestResult{Reason: "no test ran", Issues: []delivery.Issue{{Severity: "major", Category: "bug", Description: "no test ran"}}},
			nil,
		},
		{
			"SC52 exits with another code", "sum_test.go", head + "func TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(7)\n}\n\nfunc TestFine(t *testing.T) {}\n",
			delivery.TestResult{Ran: 1, Reason: "failed: example.org/sum", Issues: []delivery.Issue{{
				Severity: "major", Category: "bug", Location: "example.org/sum", Description: "package failed: PASS\nFAIL\texample.org/sum",
			}}},
			nil,
		},
		{
			"SC52 no module", "go.mod", "nonsense\n",
			delivery.TestResult{Reason: "the run ended with exit code 1", Issues: []delivery.Issue{{
				Severity: "major", Category: "bug", Description: "the run ended with exit code 1\ngo: errors parsing go.mod:\ngo.mod:1: unknown directive: nonsense",
			}}},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t)
			write(t, c, tt.file, tt.content)
			got := test(t, open(t, c))
			for _, said := range tt.output {
				assert.Contains(t, got.Output, said)
			}
			tt.want.Kind, got.Output = "run", ""
			assert.Equal(t, tt.want, got)
		})
	}
	t.Run("SC52 no test file", func(t *testing.T) {
		c := config(t)
		require.NoError(t, os.Remove(filepath.Join(c.Dir, "sum_test.go")))
		got := test(t, open(t, c))
		assert.False(t, got.Passed)
		assert.Equal(t, "no test ran", got.Reason)
	})
	t.Run("SC46 SC52 a linker on a full disk is no verdict on the code", func(t *testing.T) {
		c := config(t)
		c.Test = []string{"sh", "-c", "echo x >>sum.go; echo 'link: write: Disk quota exceeded' >&2; exit 1"}
		w := open(t, c)
		before := snapshot(t, w, "")
		_, err := call(t, w, "", delivery.OpTest, nil)
		require.ErrorContains(t, err, "the disk is full")
		assert.Equal(t, before.ID, snapshot(t, w, "").ID, "the folder is as before")
		assert.NoFileExists(t, filepath.Join(c.State, "testing"))
	})
	t.Run("SC52 a command that writes something else", func(t *testing.T) {
		c := config(t)
		c.Test = []string{"echo", "ok"}
		got := test(t, open(t, c))
		assert.False(t, got.Passed)
		assert.Equal(t, "the run wrote a line that is no event of go test -json: ok", got.Reason)
	})
}

// hostile is the body of a test that does its worst.
func hostile(t *testing.T, imports, body string) workspace.Config {
	t.Helper()
	c := config(t)
	write(t, c, "hostile_test.go", "package sum\n\nimport (\n\t\"testing\"\n"+imports+")\n\nfunc TestHostile(t *testing.T) {\n"+body+"\n}\n")
	return c
}

func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	require.NoError(t, os.WriteFile(kept, []byte("kept"), 0o600))
	for _, tt := range []struct {
		name, imports, body string
		change              func(*workspace.Config)
		reason              string
	}{
		{"SC57 hangs", "\"time\"\n", "time.Sleep(time.Minute)", func(c *workspace.Config) { c.Time = 5 * time.Second }, "the run was killed after the time limit of 5s"},
		{"SC57 floods with 1 GiB", "\"fmt\"\n\"strings\"\n", "line := strings.Repeat(\"x\", 1<<16)\nfor range 1 << 14 { fmt.Println(line) }", func(*workspace.Config) {}, "the run was killed after it wrote more than 33554432 bytes"},
		{"SC57 forks", "\"os/exec\"\n", "for range 500 { exec.Command(\"sleep\", \"30\").Start() }\nexec.Command(\"sleep\", \"30\").Run()", func(c *workspace.Config) { c.Processes = 100 }, "the run was killed with more than 100 processes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasSuffix(tt.name, "forks") && runtime.GOOS != "linux" {
				t.Skip("processes are counted on Linux only")
			}
			c := hostile(t, tt.imports, tt.body)
			tt.change(&c)
			w := open(t, c)
			before := snapshot(t, w, "")
			got := test(t, w)
			assert.False(t, got.Passed)
			assert.Equal(t, tt.reason, got.Reason)
			assert.NotEmpty(t, got.Issues)
			assert.LessOrEqual(t, len(got.Output), 70<<10)
			assert.Equal(t, before.ID, snapshot(t, w, "").ID)
			left, err := proc.Sweep(t.Context(), workspace.Mark(w))
			require.NoError(t, err)
			assert.Zero(t, left)
		})
	}
	t.Run("SC57 writes outside", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("writes are limited on Linux only")
		}
		c := hostile(t, "\"os\"\n", "for _, p := range []string{"+strconv.Quote(kept)+", "+strconv.Quote(filepath.Join(outside, "new"))+", \"../state/testing\", \"../state/snapshots.git/config\", \"../state/calls/x\"} {\n"+
			"if os.WriteFile(p, []byte(\"evil\"), 0o644) == nil { t.Log(\"wrote\", p) }\nif os.RemoveAll(p) == nil && p != \"../state/calls/x\" && p != "+strconv.Quote(filepath.Join(outside, "new"))+" { t.Log(\"removed\", p) }\n}\nt.Fail()")
		got := test(t, open(t, c))
		assert.Equal(t, "failed: example.org/sum TestHostile", got.Reason)
		assert.NotContains(t, got.Output, "wrote")
		assert.NotContains(t, got.Output, "removed")
		data, err := os.ReadFile(kept)
		require.NoError(t, err)
		assert.Equal(t, "kept", string(data))
	})
	t.Run("SC57 kills its parent", func(t *testing.T) {
		ours, _ := os.Readlink("/proc/self/ns/pid") // "": it cannot be told, and nothing of ours is to be killed
		c := hostile(t, "\"os\"\n\"syscall\"\n\"time\"\n", "syscall.Kill(os.Getppid(), syscall.SIGKILL)\n"+
			"if space, _ := os.Readlink(\"/proc/self/ns/pid\"); space != "+strconv.Quote(ours)+" { syscall.Kill(-1, syscall.SIGKILL) }\ntime.Sleep(30 * time.Second)")
		c.Time = 6 * time.Second
		got := test(t, open(t, c))
		assert.False(t, got.Passed)
		assert.NotEmpty(t, got.Reason)
	})
	t.Run("SC57 changes the project", func(t *testing.T) {
		c := hostile(t, "\"os\"\n\"os/exec\"\n", "os.WriteFile(\"sum.go\", nil, 0o644)\nos.Remove(\"go.mod\")\nos.MkdirAll(\"locked/x\", 0o755)\nos.Chmod(\"locked\", 0)\nos.Chmod(\"kept\", 0)\nos.Mkdir(os.TempDir()+\"/x\", 0)\nexec.Command(\"git\", \"init\", \"-q\", \"nested\").Run()\nos.WriteFile(\"nested/f\", nil, 0o644)\n"+
			"exec.Command(\"mkfifo\", \"pipe.go\").Run()\nexec.Command(\"git\", \"init\", \"-q\", \"inner\").Run()\nos.MkdirAll(\"sub/.GIT\", 0o755)")
		write(t, c, "inner/kept.go", "package inner\n")
		write(t, c, "kept/kept.go", "package kept\n")
		w := open(t, c)
		before := snapshot(t, w, "")
		got := test(t, w)
		assert.True(t, got.Passed, got.Output)
		assert.Equal(t, before.ID, snapshot(t, w, "").ID)
		assert.FileExists(t, filepath.Join(c.Dir, "go.mod"))
		assert.NoDirExists(t, filepath.Join(c.Dir, "nested"))
		assert.NoDirExists(t, filepath.Join(c.Dir, "locked"))
		info, err := os.Stat(filepath.Join(c.Dir, "kept"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "it is open again")
		left, err := os.ReadDir(filepath.Join(c.State, "tmp"))
		require.NoError(t, err)
		assert.Empty(t, left)
		assert.NoDirExists(t, filepath.Join(c.Dir, "inner", ".git"))
		assert.NoDirExists(t, filepath.Join(c.Dir, "sub"))
		assert.NoFileExists(t, filepath.Join(c.Dir, "pipe.go"))
	})
	t.Run("SC57 changes a project whose .git is a file", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("there are no pipes in folders")
		}
		c := config(t)
		c.Test = []string{"sh", "-c", "mkfifo pipe && git init -q sub && git -C sub add -A && git -C sub -c user.name=x -c user.email=x commit -qm x && echo '" + passes + "'"}
		write(t, c, "sub/x.go", "package sub\n")
		write(t, c, ".git", "gitdir: ../main/.git/worktrees/project\n")
		w := open(t, c)
		before := snapshot(t, w, "")
		for range 2 {
			got := test(t, w)
			assert.True(t, got.Passed, got.Reason)
			assert.NoFileExists(t, filepath.Join(c.Dir, "pipe"))
			assert.NoDirExists(t, filepath.Join(c.Dir, "sub", ".git"))
			assert.Equal(t, before.ID, snapshot(t, w, "").ID)
		}
		assert.Equal(t, "gitdir: ../main/.git/worktrees/project\n", content(t, c, ".git"))
	})
	t.Run("SC57 leaves links that lead out", func(t *testing.T) {
		c := hostile(t, "\"os\"\n", "os.Remove(\"sum.go\")\nos.Symlink("+strconv.Quote(kept)+", \"sum.go\")\nos.RemoveAll(\"deep\")\nos.Symlink("+strconv.Quote(outside)+", \"deep\")")
		write(t, c, "deep/kept", "ours")
		w := open(t, c)
		before := snapshot(t, w, "")
		assert.True(t, test(t, w).Passed)
		assert.Equal(t, before.ID, snapshot(t, w, "").ID)
		assert.Equal(t, "ours", content(t, c, "deep/kept"))
		data, err := os.ReadFile(kept)
		require.NoError(t, err)
		assert.Equal(t, "kept", string(data))
	})
	t.Run("SC57 asks for secrets", func(t *testing.T) {
		t.Setenv("API_KEY", "secret")
		c := hostile(t, "\"os\"\n\"strings\"\n", "for _, e := range os.Environ() { t.Log(strings.Split(e, \"=\")[0]) }\nt.Log(os.Getenv(\"GOPROXY\"), os.Getenv(\"GIVEN\"))\nt.Fail()")
		c.Env = append(c.Env, "GIVEN=by the host")
		got := test(t, open(t, c))
		assert.NotContains(t, got.Output, "API_KEY")
		assert.Contains(t, got.Output, "off by the host")
	})
}

func TestOutputIsTheSameEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	body := "log.Print(\"logged\")\nt.Log(t.TempDir(), \"kept 2026-01-02T03:04:05Z and 1.5s\")\nwd, _ := os.Getwd()\nt.Log(wd+\"/sum.go\", new(int))\npanic(\"at last\")"
	var outputs []string
	for range 2 {
		outputs = append(outputs, test(t, open(t, hostile(t, "\"log\"\n\"os\"\n", body))).Output)
	}
	assert.Equal(t, outputs[0], outputs[1])
	for _, want := range []string{"logged\n", "$TMPDIR kept 2026-01-02T03:04:05Z and 1.5s\n", "sum.go 0x…\n", "panic: at last", "hostile_test.go:", "$GOROOT/src/testing/testing.go:"} {
		assert.Contains(t, outputs[0], want)
	}
	assert.NotContains(t, outputs[0], os.TempDir()+"/")
	assert.NotRegexp(t, `\(\d+\.\d+s\)|\d+/\d+/\d+ `, outputs[0])
}

func TestCanceled(t *testing.T) {
	c := hostile(t, "\"net\"\n", "c, _ := net.Dial(\"unix\", \"../s\")\nc.Read(make([]byte, 1))")
	socket, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(filepath.Dir(c.Dir), "s"))
	require.NoError(t, err)
	w := open(t, c)
	before := snapshot(t, w, "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := socket.Accept() // the test runs
		cancel()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1)) // until the test has ended
		}
	}()
	_, err = w.Call(agent.WithInfo(ctx, agent.Info{Key: "k"}), agent.Request{Op: delivery.OpTest})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, before.ID, snapshot(t, w, "").ID)
	assert.NoFileExists(t, filepath.Join(c.State, "testing"), "the folder is as before")
}

// The tests take away what the undo needs, once.
func TestUndoFails(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the tests are a shell script")
	}
	ops := []struct {
		op string
		in func(before delivery.Snapshot) any
	}{
		{delivery.OpApply, func(delivery.Snapshot) any {
			return delivery.ApplyRequest{Files: []delivery.File{{Path: "new.go", Content: "package sum\n"}}}
		}},
		{delivery.OpTest, func(delivery.Snapshot) any { return nil }},
		{delivery.OpSnapshot, func(delivery.Snapshot) any { return nil }},
		{delivery.OpRestore, func(before delivery.Snapshot) any { return before }},
	}
	for _, tt := range ops {
		t.Run("SC57 SC46 "+tt.op+" is on the folder as it was before the tests", func(t *testing.T) {
			c := config(t)
			kept, away := filepath.Join(c.State, "snapshots.git"), filepath.Join(c.State, "home", "away")
			c.Writable = append(c.Writable, c.State)
			c.Test = []string{"sh", "-c", "echo x >left.txt; [ -e ../state/home/once ] || { touch ../state/home/once; mv ../state/snapshots.git ../state/home/away; }; echo '" + passes + "'"}
			w, err := workspace.Open(t.Context(), c)
			require.NoError(t, err)
			before := snapshot(t, w, "")
			_, err = call(t, w, "run/1", delivery.OpTest, nil)
			require.ErrorContains(t, err, "workspace: test: undo what tests changed: ")
			require.FileExists(t, filepath.Join(c.Dir, "left.txt"))

			_, err = call(t, w, "run/2", tt.op, tt.in(before))
			require.ErrorContains(t, err, "undo what tests changed: ")
			assert.NoFileExists(t, filepath.Join(c.Dir, "new.go"))
			require.NoError(t, os.Rename(away, kept))
			first, err := call(t, w, "run/2", tt.op, tt.in(before))
			require.NoError(t, err, "the error is not recorded")
			assert.NoFileExists(t, filepath.Join(c.Dir, "left.txt"))

			after := snapshot(t, w, "")
			assert.Equal(t, tt.op == delivery.OpApply, after.ID != before.ID)
			require.NoError(t, w.Close())
			w = open(t, c)
			assert.Equal(t, after.ID, snapshot(t, w, "").ID, "what was answered is there after a restart")
			again, err := call(t, w, "run/2", tt.op, tt.in(before))
			require.NoError(t, err)
			assert.Equal(t, first, again)
		})
	}
	t.Run("SC57 SC46 an undo that fails at Open", func(t *testing.T) {
		c := config(t)
		require.NoError(t, os.MkdirAll(c.State, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(c.State, "testing"), []byte("0123456789012345678901234567890123456789"), 0o600))
		_, err := workspace.Open(t.Context(), c)
		require.ErrorContains(t, err, "workspace: undo what tests changed: there is no snapshot ")
	})
}
