package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a worker, seen from the storm.
type process struct {
	gen            int
	cmd            *exec.Cmd
	in             io.Closer
	said           *bytes.Buffer
	exited         chan struct{}
	result         error     // once exited is closed
	spawned, ended time.Time // ended: when it was killed
}

// spawn starts a worker. It is killed when ctx is done.
func spawn(ctx context.Context, t task) (*process, error) {
	arg, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{gen: t.Gen, cmd: exec.CommandContext(ctx, program, "worker", string(arg)), said: &bytes.Buffer{}, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	p.spawned = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup // kill and stop wait for exited
	wg.Go(func() {
		p.result = p.cmd.Wait()
		close(p.exited)
	})
	return p, nil
}

// kill kills the process and waits until it is dead.
func (p *process) kill() error {
	p.ended = time.Now()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.exited
	if p.cmd.ProcessState.Exited() {
		return fmt.Errorf("process %d ended before it was killed: %v: %s", p.gen, p.cmd.ProcessState, p.said)
	}
	return nil
}

// stop lets the process end by itself.
func (p *process) stop() error {
	p.ended = time.Now()
	if err := p.in.Close(); err != nil {
		return err
	}
	select {
	case <-p.exited:
		if p.result != nil {
			return fmt.Errorf("process %d: %w: %s", p.gen, p.result, p.said)
		}
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("process %d does not close its engine within a minute", p.gen)
	}
}
