// Package npmtest runs programs from npm in tests, in the versions of a lock file.
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

// Programs are installed once, when a test asks for one of them. A package of tests
// has one Programs for a folder, and calls Remove when its tests have ended.
type Programs struct {
	Folder string // beside the tests, with a package.json and its package-lock.json

	once sync.Once
	dir  string // where they are installed; "": nowhere
	err  error
}

// Script returns the command node, and the path of a file of an installed package.
// Where that cannot be had, the test is skipped; in CI only where there is no npm.
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

// Start runs node with args, and returns once what it prints matches up. It is killed
// when the test ends, or by stop. It has the environment Env and what is in env.
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
		_ = cmd.Wait() // it was killed
	})
	t.Cleanup(stop)
	select {
	case <-said.ready:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not print %q: %s", strings.Join(args, " "), up, said.text())
	}
	return stop
}

// Env is an environment with what Node.js may need, and more.
func Env(more ...string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return !strings.HasPrefix(e, "PATH=") && !strings.HasPrefix(e, "HOME=")
	}), more...)
}

// FreePort is a port of this machine that no process listens on now.
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

// output keeps what a program prints and tells when it is up.
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
