// Package npmtest runs programs from npm in tests, in the versions that a lock file pins.
package npmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Programs has the programs of one package.json. They are installed once, when a test asks
// for the first of them. A package of tests has one Programs for each folder, and calls
// Remove when its tests have ended. It is safe for concurrent use, except Remove.
type Programs struct {
	Folder string // folder with a package.json and its package-lock.json, relative to the tests

	once sync.Once
	dir  string // folder in which they are installed; "": none
	err  error
}

// Script returns the command node and the path of a file of an installed package. Without
// node or npm, and with -short, it skips the test. It also skips the test if the packages
// cannot be installed, but fails it in CI.
func (p *Programs) Script(t testing.TB, path ...string) (node, script string) {
	t.Helper()
	if testing.Short() {
		t.Skip("programs from npm are left out of short tests")
	}
	node, err := exec.LookPath("node")
	_, errNPM := exec.LookPath("npm")
	if err := errors.Join(err, errNPM); err != nil {
		t.Skipf("the test needs Node.js and npm, on Debian the packages nodejs and npm: %v", err)
	}
	p.once.Do(func() { p.err = p.install() })
	switch {
	case p.err != nil && slices.Contains(os.Environ(), "CI=true"):
		t.Fatalf("install %s: %v", p.Folder, p.err)
	case p.err != nil:
		t.Skipf("%s cannot be installed; npm needs its registry, or has it in its cache after: cd %s && npm ci --ignore-scripts\n%v", p.Folder, p.Folder, p.err)
	}
	return node, filepath.Join(append([]string{p.dir, "node_modules"}, path...)...)
}

// Version returns the version of node as two numbers, such as 20 and 15.
func Version(t testing.TB, node string) (major, minor int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if err == nil {
		_, err = fmt.Sscanf(string(out), "v%d.%d", &major, &minor)
	}
	if err != nil {
		t.Fatalf("%s --version: %v", node, err)
	}
	return major, minor
}

// install installs the programs in a new folder.
func (p *Programs) install() error {
	dir, err := os.MkdirTemp("", "npmtest")
	if err != nil {
		return err
	}
	p.dir = dir
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(p.Folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	return nil
}

// Remove deletes what was installed.
func (p *Programs) Remove() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// Start starts node with args and the environment Env(env...). It returns once the output
// matches up, and fails the test if that takes a minute. The process is killed when the
// test ends, or by stop.
func Start(t testing.TB, up *regexp.Regexp, env []string, node string, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, args...)
	cmd.Env = Env(env...)
	said := &output{up: up, ready: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", strings.Join(args, " "), err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // returns the error of the kill
	})
	t.Cleanup(stop)
	select {
	case <-said.ready:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not print %q: %s", strings.Join(args, " "), up, said.text())
	}
	return stop
}

// Env returns the variables of this process that Node.js needs, PATH and HOME, and more.
func Env(more ...string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return !strings.HasPrefix(e, "PATH=") && !strings.HasPrefix(e, "HOME=")
	}), more...)
}

// FreePort returns a port of localhost on which no process listens now.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return port
}

// output keeps the output of a program, and closes ready once it matches up.
type output struct {
	up    *regexp.Regexp
	mu    sync.Mutex
	all   bytes.Buffer
	told  bool
	ready chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.all.Write(p)
	if !o.told && o.up.Match(o.all.Bytes()) {
		o.told = true
		close(o.ready)
	}
	return n, err
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}
