package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// work is the main function of a worker process: it resumes the runs of dead processes,
// and starts a film for each line that it reads, until the input ends.
func work(ctx context.Context, name, dsn, pace string, in io.Reader) (err error) {
	d, err := time.ParseDuration(pace)
	if err != nil {
		return err
	}
	s, err := openWith(ctx, dsn, orchestrator.Config{Agents: cast(d)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if _, err := s.eng.Resume(ctx); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var id string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &id, &n); err != nil {
			return err
		}
		if _, err := s.film.Start(ctx, s.eng, hierarchy.Input{Prompt: request(n)}, orchestrator.StartOptions{
			ID: id, Labels: map[string]string{"started by": name},
		}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// worker is a worker process.
type worker struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
}

// hire starts a worker. It is killed when ctx is done.
func hire(ctx context.Context, name string, o options) (*worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{name: name, cmd: exec.CommandContext(ctx, program, "worker", name, o.dsn, o.pace.String())}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return w, w.cmd.Start()
}

// start has the worker start a film.
func (w *worker) start(id string, n int) error {
	_, err := fmt.Fprintln(w.in, id, n)
	return err
}

// kill kills the worker as kill -9 does.
func (w *worker) kill() error {
	err := w.cmd.Process.Kill()
	w.wait()
	return err
}

// wait waits for the end of the process.
func (w *worker) wait() { _ = w.cmd.Wait() }
