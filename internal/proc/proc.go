// Package proc runs programs that are not trusted to end, to be quiet or to be
// alone: with a limit on time, on output and on processes, in an environment of their
// own, and so that nothing of them is left when Run returns.
//
// # What holds where
//
// On every system the program gets the environment that it is given and nothing of
// ours, time and output are limited, and a flood of output fills no memory.
//
// On Linux the program is the first process of a PID namespace, as root in one
// alone, otherwise in one with a user namespace. It is killed when Run is over and
// when our process ends, by kill -9 too, and with it the kernel kills every process
// that it has started, whatever group, session or name it has taken. Nothing in
// there can send a signal to a process outside. [Command.Writable] is enforced by
// Landlock (Linux 5.13, without a limit on truncation before 6.2), which also hides
// memory and environment of our process. [Command.Processes] is enforced by looking
// fifty times a second; processes that double faster than that may last until
// [Command.Time]. A program of root loses the capabilities that reach beyond
// files and users, such as to mount, to trace and to load modules.
//
// Where the kernel allows no namespace, as in many containers, and on other Unix
// systems, the program has a process group of its own, which is killed when Run is
// over. What leaves the group lives on, and so may the group if our process is killed
// (on Linux the program itself still ends with us). [Sweep] ends such processes at
// the next start; it finds them by [Command.Mark]. Writes and the number of processes
// are not limited there, except by Landlock on Linux.
//
// On Windows only the program itself is killed, writes are not limited, and Sweep
// finds nothing.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// The defaults of Command.
const (
	DefaultOutput = 1 << 20
	DefaultFlood  = 256 << 20
)

// lingering is how long output is still read after the program has ended and its
// processes were killed: one that escaped may hold the pipe open.
const lingering = time.Second

// markName is the environment variable that has Command.Mark.
const markName = "CONVENE_PROC"

// Command is a program to run, and its limits.
type Command struct {
	Path  string   // of the program; a name without a separator is searched for in the PATH of this process
	Args  []string // without the name of the program
	Dir   string   // where it runs
	Env   []string // "KEY=value"; all it gets, but for the variable with Mark
	Stdin string

	Time      time.Duration // then it is killed; 0: only ctx ends it
	Output    int           // bytes kept of stdout and of stderr: the first half and the last; 0: DefaultOutput
	Flood     int64         // bytes written to one of them at which it is killed; 0: DefaultFlood
	Processes int           // that may live at once; with more it is killed; 0: no limit, and the priority is not lowered

	// Writable are the only files and folders, with all below, that may be changed.
	// Each must exist. Empty: no limit.
	Writable []string

	// Mark is a word by which Sweep finds what an earlier process of ours has left.
	// Empty: not found.
	Mark string
}

// End says how a program ended.
type End string

// The ends of a program.
const (
	Exited   End = "exited"             // by itself, with Result.Code
	Signaled End = "ended by a signal"  // that this package did not send
	TimedOut End = "time limit"         // of Command.Time
	Flooded  End = "output limit"       // of Command.Flood
	Crowded  End = "limit of processes" // of Command.Processes
)

// Result is what came of a program.
type Result struct {
	Stdout, Stderr Output
	End            End
	Code           int    // of the exit; -1 unless Exited
	Why            string // in words, unless it exited: which limit, which signal
	Elapsed        time.Duration
}

// limitError is the cause with which a program was killed.
type limitError struct {
	end End
	why string
}

func (e *limitError) Error() string { return e.why }

// Run runs c and returns when it and what it started have ended, as far as the system
// allows; see the package comment. A program that fails or meets a limit is a Result,
// not an error. The errors are that it could not be started, ctx's cause when ctx ended it,
// and [ErrNoSpace]; with the last two the Result has what was written until then.
func Run(ctx context.Context, c Command) (Result, error) {
	var (
		res  Result
		err  error
		work sync.WaitGroup
	)
	work.Go(func() {
		onOwnThread(func() { res, err = run(ctx, c) })
	})
	work.Wait()
	return res, err
}

// run is Run on a goroutine, and on Linux a thread, that ends with it.
func run(parent context.Context, c Command) (Result, error) {
	if err := parent.Err(); err != nil {
		return Result{}, context.Cause(parent)
	}
	prepared, err := prepare(c)
	if err != nil {
		return Result{}, err
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	if c.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Time, &limitError{TimedOut, fmt.Sprintf("killed after the time limit of %v", c.Time)})
		defer cancel()
	}
	out, errs := newCapture(c, stop), newCapture(c, stop)
	pipes, err := newPipes(out, errs)
	if err != nil {
		return Result{}, err
	}
	begin, started := watch(c, stop), time.Now()
	p, err := start(ctx, c, prepared, pipes)
	if err != nil {
		pipes.abandon()
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	pipes.started()
	watched := begin(p)
	waitErr := p.cmd.Wait()
	if !p.isolated {
		p.kill() // what it left behind in its group
	}
	watched()
	pipes.drain()
	res := Result{Stdout: out.output(), Stderr: errs.output(), Elapsed: time.Since(started), Code: -1}
	res, err = ended(ctx, parent, res, p.cmd, waitErr)
	if err == nil {
		err = starved(c, res)
	}
	return res, err
}

// ended completes res with how the program ended.
func ended(ctx, parent context.Context, res Result, cmd *exec.Cmd, waitErr error) (Result, error) {
	state := cmd.ProcessState
	var limit *limitError
	switch {
	case state == nil:
		return res, fmt.Errorf("wait for %s: %w", cmd.Path, waitErr)
	case state.Exited():
		res.End, res.Code = Exited, state.ExitCode()
		return res, nil
	case parent.Err() != nil:
		res.End, res.Why = Signaled, "canceled"
		return res, context.Cause(parent)
	case errors.As(context.Cause(ctx), &limit):
		res.End, res.Why = limit.end, limit.why
		return res, nil
	}
	res.End, res.Why = Signaled, strings.TrimSuffix(state.String(), " (core dumped)")
	return res, nil
}

// process is a program under way.
type process struct {
	cmd      *exec.Cmd
	isolated bool // in a PID namespace of its own
}

// start starts c as isolated as the system allows.
func start(ctx context.Context, c Command, prepared isolation, pipes *pipes) (*process, error) {
	for {
		cmd := exec.CommandContext(ctx, c.Path, c.Args...)
		p := &process{cmd: cmd, isolated: prepared.namespace}
		cmd.Dir, cmd.Env = c.Dir, append([]string{}, c.Env...) // not nil: that would be our own
		if c.Mark != "" {
			cmd.Env = append(cmd.Env, markName+"="+c.Mark)
		}
		cmd.Stdin = strings.NewReader(c.Stdin)
		if c.Stdin == "" {
			cmd.Stdin = nil
		}
		cmd.Stdout, cmd.Stderr = pipes.out.write, pipes.errs.write
		cmd.Cancel = func() error { p.kill(); return nil }
		cmd.WaitDelay = lingering
		cmd.SysProcAttr = prepared.attributes()
		err := cmd.Start()
		if err == nil {
			return p, nil
		}
		if !prepared.namespace || errors.Is(err, os.ErrNotExist) || ctx.Err() != nil {
			return nil, err
		}
		prepared.namespace = false // the kernel may not allow one
	}
}

// pipes are what a program writes into. They are not the ones of exec.Cmd, because
// the rest of the output is read after the rest of the processes was killed.
type pipes struct {
	out, errs pipe
	readers   sync.WaitGroup
}

type pipe struct {
	read, write *os.File
	to          io.Writer
}

func newPipes(out, errs io.Writer) (*pipes, error) {
	p := &pipes{out: pipe{to: out}, errs: pipe{to: errs}}
	for _, one := range []*pipe{&p.out, &p.errs} {
		var err error
		if one.read, one.write, err = os.Pipe(); err != nil {
			p.abandon()
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	return p, nil
}

// started begins to read: the program has its own ends of the pipes now.
func (p *pipes) started() {
	for _, one := range []pipe{p.out, p.errs} {
		_ = one.write.Close()
		p.readers.Go(func() { _, _ = io.Copy(one.to, one.read) }) // a capture takes all; a read ends with the pipe
	}
}

// drain reads what is left, for a moment, and ends the readers.
func (p *pipes) drain() {
	late := time.AfterFunc(lingering, p.abandon)
	p.readers.Wait()
	late.Stop()
	p.abandon()
}

// abandon closes what is open: a second time is harmless.
func (p *pipes) abandon() {
	for _, f := range []*os.File{p.out.read, p.out.write, p.errs.read, p.errs.write} {
		_ = f.Close()
	}
}
