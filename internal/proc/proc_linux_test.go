package proc_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/proc"
)

// With these arguments, and a script after them, this test binary is a program that
// runs the script and reports the result.
const (
	asHelper     = "run-script"
	noNamespaces = "run-script-without-namespaces" // it has the kernel refuse them first
	asMover      = "truncate-and-move"             // it empties the file behind it, and moves "here" to "there"
)

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != asHelper && os.Args[1] != noNamespaces && os.Args[1] != asMover {
		m.Run()
		return
	}
	if os.Args[1] == asMover {
		say("truncate:", os.Truncate(os.Args[2], 0) == nil, "move:", os.Rename("here/x", "there/x") == nil)
		return
	}
	if os.Args[1] == noNamespaces {
		if err := os.WriteFile("/proc/sys/user/max_pid_namespaces", []byte("0"), 0); err != nil {
			panic(err)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	res, err := proc.Run(context.Background(), proc.Command{
		Path: "/bin/sh", Args: []string{"-c", os.Args[2]}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"},
		Mark: markOf(dir), Writable: []string{dir}, Time: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	say(fmt.Sprintf("end: %s %s\ncode: %d\n%s%s", res.End, res.Why, res.Code, res.Stdout, res.Stderr))
}

func say(words ...any) {
	if _, err := fmt.Println(words...); err != nil { //nolint:forbidigo // it is a program
		panic(err)
	}
}

func markOf(dir string) string { return "helper-" + filepath.Base(filepath.Dir(dir)) }

// public is a folder that everybody may write.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// another is this program in another process, which runs the script in a folder of
// its own.
func another(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	dir := public(t)
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	binary := filepath.Join(dir, "binary")
	require.NoError(t, os.WriteFile(binary, self, 0o755))
	cmd := exec.CommandContext(t.Context(), binary, asHelper, script)
	cmd.Dir, cmd.Env = dir, []string{}
	return cmd
}

// asNobody has cmd run without rights.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}

// withoutNamespaces has cmd run where the kernel refuses PID namespaces.
func withoutNamespaces(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Args[1] = noNamespaces
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

func needsNamespaces(t *testing.T) {
	t.Helper()
	if !proc.Isolates() {
		t.Skip("this kernel allows no PID namespaces here")
	}
}

// usersIsolate reports whether who has no rights may make user namespaces here.
func usersIsolate() bool {
	for path, no := range map[string]string{
		"/proc/sys/user/max_user_namespaces": "0", "/proc/sys/kernel/unprivileged_userns_clone": "0", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
	} {
		if data, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(data)) == no {
			return false
		}
	}
	return true
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// A program cannot kill what started it, nor find it.
func TestFirstOfItsNamespace(t *testing.T) {
	needsNamespaces(t)
	script := `echo "I am $$"; sh -c 'kill -9 $PPID; kill -9 1'; echo alive`
	want := "end: exited \ncode: 0\nI am 1\nalive\n\n"
	t.Run("SC47 as we are", func(t *testing.T) {
		assert.Equal(t, want, output(t, another(t, script)))
	})
	t.Run("SC47 without rights", func(t *testing.T) {
		cmd := another(t, script+"; id -u")
		asNobody(t, cmd)
		got := output(t, cmd)
		if !usersIsolate() {
			t.Skip("this kernel allows no user namespaces without rights")
		}
		assert.Equal(t, strings.TrimSuffix(want, "\n")+"65534\n\n", got, "and it keeps its user")
	})
	t.Run("SC47 where none is allowed", func(t *testing.T) {
		cmd := another(t, `sh -c 'kill -9 $PPID'; echo alive`)
		withoutNamespaces(t, cmd)
		assert.Equal(t, "end: ended by a signal signal: killed\ncode: -1\n\n", output(t, cmd))
	})
}

// holders is a script whose processes hold the fifo "alive" open: in the background,
// ignoring signals, in a session of their own, and the program itself.
const holders = `exec 9<>alive; (trap '' HUP TERM; sleep 999) & setsid sleep 998 & setsid sh -c 'sleep 997 & sleep 996' & echo >ready; sleep 995`

// killed starts cmd, kills it by kill -9 when its program is ready, and returns the
// end of the fifo that is open while any process of that holds the other.
func killed(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	for _, name := range []string{"alive", "ready"} {
		path := filepath.Join(cmd.Dir, name)
		require.NoError(t, syscall.Mkfifo(path, 0))
		require.NoError(t, os.Chmod(path, 0o666))
	}
	alive, err := os.OpenFile(filepath.Join(cmd.Dir, "alive"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, alive.Close()) })
	require.NoError(t, cmd.Start())
	_, err = os.ReadFile(filepath.Join(cmd.Dir, "ready")) // returns when the program has written it
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	return alive
}

// A fifo ends when the last process that holds it has ended: nothing is waited for.
func TestKillOfThisProcess(t *testing.T) {
	needsNamespaces(t)
	for i := range 5 {
		t.Run(fmt.Sprintf("SC47 S53 kill -9 of ours leaves nothing %d", i), func(t *testing.T) {
			cmd := another(t, holders)
			if i%2 == 1 {
				asNobody(t, cmd)
			}
			alive := killed(t, cmd)
			_, err := io.ReadAll(alive)
			require.NoError(t, err)
			n, err := proc.Sweep(t.Context(), markOf(cmd.Dir))
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
}

func TestSweep(t *testing.T) {
	t.Run("SC47 what a killed process left is found by its mark", func(t *testing.T) {
		cmd := another(t, holders)
		withoutNamespaces(t, cmd)
		alive := killed(t, cmd)
		other := exec.CommandContext(t.Context(), "sleep", "999")
		other.Env = []string{"CONVENE_PROC=" + markOf(cmd.Dir) + "x", "X=CONVENE_PROC=" + markOf(cmd.Dir)}
		require.NoError(t, other.Start())

		n, err := proc.Sweep(t.Context(), markOf(cmd.Dir))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, n, 3)
		_, err = io.ReadAll(alive)
		require.NoError(t, err)
		require.NoError(t, other.Process.Signal(syscall.Signal(0)), "another mark is another's process")
		require.NoError(t, other.Process.Kill())
		require.Error(t, other.Wait())
	})
	t.Run("no mark is no process", func(t *testing.T) {
		n, err := proc.Sweep(t.Context(), "")
		require.NoError(t, err)
		assert.Zero(t, n)
	})
}

func TestWritable(t *testing.T) {
	if _, _, errno := syscall.Syscall(444, 0, 0, 1); errno != 0 {
		t.Skip("this kernel has no Landlock")
	}
	outside := public(t)
	kept := filepath.Join(outside, "kept")
	require.NoError(t, os.WriteFile(kept, []byte("kept"), 0o666))
	require.NoError(t, os.Chmod(kept, 0o666))
	script := strings.ReplaceAll(`
		echo x >OUT/new && echo "wrote outside"
		echo x >>OUT/kept && echo "changed a file outside"
		true >OUT/kept && echo "emptied a file outside"
		rm -f OUT/kept 2>/dev/null; test -e OUT/kept || echo "removed a file outside"
		mkdir OUT/d && echo "made a folder outside"
		ln -s OUT link; echo x >link/new && echo "wrote through a link"
		ln OUT/kept hard 2>/dev/null && echo x >hard && echo "wrote through a hard link"
		mv OUT/kept . && echo "moved a file"
		echo x >inside && mkdir -p a/b && mv inside a/b/ && cat a/b/inside && rm -r a && echo >/dev/null && echo "works inside"
	`, "OUT", outside)
	for name, change := range map[string]func(*testing.T, *exec.Cmd){
		"as we are": func(*testing.T, *exec.Cmd) {}, "without rights": asNobody, "without namespaces": withoutNamespaces,
	} {
		t.Run("SC47 nothing is written outside "+name, func(t *testing.T) {
			cmd := another(t, script+"exit 0")
			change(t, cmd)
			got := output(t, cmd)
			assert.Contains(t, got, "code: 0\nx\nworks inside\n", "none of the others was said")
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			assert.Len(t, entries, 1)
			data, err := os.ReadFile(kept)
			require.NoError(t, err)
			assert.Equal(t, "kept", string(data))
		})
	}
	t.Run("a folder that is not there", func(t *testing.T) {
		c := sh(t, "true")
		c.Writable = []string{filepath.Join(outside, "none")}
		_, err := proc.Run(t.Context(), c)
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, "limit writes: open ")
	})
	t.Run("SC57 our environment cannot be read", func(t *testing.T) {
		c := sh(t, fmt.Sprintf("cat /proc/%d/environ", os.Getpid()))
		c.Writable = []string{c.Dir}
		for range 50 {
			res := run(t, c)
			require.NotZero(t, res.Code)
			require.Empty(t, res.Stdout.String())
		}
	})
	t.Run("SC57 nor without rights", func(t *testing.T) {
		cmd := another(t, "cat /proc/[0-9]*/environ 2>/dev/null | grep -ac A_SECRET=")
		cmd.Env = []string{"A_SECRET=1"}
		asNobody(t, cmd)
		assert.Equal(t, "end: exited \ncode: 1\n0\n\n", output(t, cmd))
	})
	t.Run("SC47 files are neither emptied without being opened, nor kept from moving", func(t *testing.T) {
		cmd := another(t, "mkdir here there; echo >here/x; ./binary "+asMover+" "+kept)
		assert.Equal(t, "end: exited \ncode: 0\ntruncate: false move: true\n\n", output(t, cmd))
	})
	t.Run("we may write still", func(t *testing.T) {
		c := sh(t, "true")
		c.Writable = []string{c.Dir}
		for range 50 {
			run(t, c)
			require.NoError(t, os.WriteFile(filepath.Join(outside, "kept"), []byte("kept"), 0o666))
		}
	})
}

func TestForks(t *testing.T) {
	needsNamespaces(t)
	for name, script := range map[string]string{
		"one after another": "i=0; while [ $i -lt 400 ]; do sleep 60 & i=$((i+1)); done; wait",
		"out of its group":  "i=0; while [ $i -lt 400 ]; do setsid sleep 60 & i=$((i+1)); done; wait",
	} {
		t.Run("SC57 "+name, func(t *testing.T) {
			c := sh(t, script)
			c.Processes, c.Mark = 100, "forks-"+filepath.Base(c.Dir)
			res := run(t, c)
			assert.Equal(t, proc.Crowded, res.End)
			assert.Equal(t, "killed with more than 100 processes", res.Why)
			n, err := proc.Sweep(t.Context(), c.Mark)
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
	t.Run("SC57 each two more", func(t *testing.T) { // who counts may starve: then time ends it
		c := sh(t, "f() { f | f & }; f; sleep 999")
		c.Processes, c.Mark, c.Time = 100, "forks-"+filepath.Base(c.Dir), 3*time.Second
		assert.Contains(t, []proc.End{proc.Crowded, proc.TimedOut}, run(t, c).End)
		n, err := proc.Sweep(t.Context(), c.Mark)
		require.NoError(t, err)
		assert.Zero(t, n)
	})
	t.Run("as many as are allowed, beside short processes of others", func(t *testing.T) {
		others := sh(t, "while :; do for i in 1 2 3 4 5 6 7 8; do true | true & done; wait; done")
		ctx, end := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() { _, _ = proc.Run(ctx, others) })
		}
		for range 10 {
			c := sh(t, "sleep 0.3 & sleep 0.3 & wait")
			c.Processes = 3
			assert.Equal(t, proc.Exited, run(t, c).End)
		}
		end()
		work.Wait()
	})
}

func TestGigabyte(t *testing.T) {
	c := sh(t, "head -c 1000000000 /dev/zero; echo end")
	c.Flood = 2 << 30
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := run(t, c)
	runtime.ReadMemStats(&after)
	assert.Equal(t, proc.Exited, res.End)
	assert.Equal(t, int64(1_000_000_004-proc.DefaultOutput), res.Stdout.Cut)
	assert.True(t, strings.HasSuffix(res.Stdout.Tail, "\x00end\n"))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "memory does not grow with the output")
}

// The thread that starts a program ends with the program.
func TestThreadsEnd(t *testing.T) {
	threads := func() int {
		entries, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(entries)
	}
	for range 5 {
		run(t, sh(t, "true"))
	}
	before := threads()
	for range 40 {
		run(t, sh(t, "true"))
	}
	assert.Less(t, threads(), before+20)
}
