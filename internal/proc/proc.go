// Package proc runs untrusted programs: with limits on time, output and processes, in an
// environment of their own, and so that no process of them is left when Run returns.
//
// # What holds where
//
// On every system the program gets only the environment that it is given. Its time and
// output are limited, and too much output does not fill the memory.
//
// On Linux the program is the first process of a PID namespace. Users other than root also
// need a user namespace for that. The program is killed when Run returns and when our
// process ends, even by kill -9. The kernel then kills every process that it has started,
// whatever group, session or name that has. None of them can send a signal to a process
// outside. [Command.Writable] is enforced by Landlock (Linux 5.13; truncation
// from 6.2 on), which also hides memory and environment of our process.
// [Command.Processes] is enforced by counting fifty times a second; processes that
// double faster than that may last until [Command.Time]. A program of root loses the
// capabilities that reach beyond files and users: mounting, tracing, loading modules.
//
// Where the kernel allows no namespace, as in many containers, and on other Unix
// systems, the program has a process group of its own, which is killed when Run
// returns. Processes that leave the group survive, and so may the group if our process
// is killed (on Linux the program itself still ends with us). [Sweep] kills such
// processes at the next start; it finds them by [Command.Mark]. Writes and the number of
// processes are not limited there, except writes by Landlock on Linux.
//
// On Windows only the program itself is killed, writes are not limited, and Sweep
// finds nothing.
package proc

import (
	"cmp"
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

// lingering is the limit of reading output after the program has ended and its processes
// were killed: one that escaped may hold the pipe open.
const lingering = time.Second

// markName is the environment variable that has Command.Mark.
const markName = "CONVENE_PROC"

// Command is a program to run, and its limits.
type Command struct {
	Path  string   // path of the program; a name without a separator is searched for in the PATH of this process
	Args  []string // arguments, without the name of the program
	Dir   string   // folder in which it runs
	Env   []string // whole environment as "KEY=value"; only the variable with Mark is added
	Stdin string   // input of the program; "": none

	Time      time.Duration // limit; the program is killed then; 0: only ctx ends it
	Output    int           // bytes kept of stdout and of stderr: the first half and the last; 0: DefaultOutput
	Flood     int64         // limit in bytes of stdout and of stderr; the program is killed then; 0: DefaultFlood
	Processes int           // limit at one time; the program is killed then; 0: none, and the priority is not lowered

	// Writable has the only files and folders that may be changed, the folders with all
	// that is below them. Each must exist. Empty means no limit.
	Writable []string

	// Mark is a word by which Sweep finds the processes of an earlier run of this program.
	// "" means that it does not find them.
	Mark string
}

// End says how a program ended.
type End string

// The ends of a program.
const (
	Exited   End = "exited"             // the program ended itself, with Result.Code
	Signaled End = "ended by a signal"  // another process sent the signal, not this package
	TimedOut End = "time limit"         // Command.Time was exceeded
	Flooded  End = "output limit"       // Command.Flood was exceeded
	Crowded  End = "limit of processes" // Command.Processes was exceeded
)

// Result says how a program ended and what it wrote.
type Result struct {
	Stdout  Output
	Stderr  Output
	End     End
	Code    int           // exit code; -1 unless Exited
	Why     string        // the limit or the signal, in words; "" if Exited
	Elapsed time.Duration // time from the start to the end
}

// limitError is the cause with which a program was killed.
type limitError struct {
	end End
	why string
}

func (e *limitError) Error() string { return e.why }

// Run runs c and returns when it and all processes that it started have ended, as far as
// the system allows; see the package comment. A program that fails or exceeds a limit is
// a Result, not an error. The errors are that it could not be started, ctx's cause when
// ctx ended it, and [ErrNoSpace]; with the last two the Result has the output until then.
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
		if _, missing := os.Stat(cmp.Or(c.Dir, ".")); missing != nil {
			err = fmt.Errorf("the folder that it runs in: %w", missing) // the system names the program
		}
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	pipes.started()
	watched := begin(p)
	waitErr := p.cmd.Wait()
	if !p.isolated {
		p.kill() // what is left in its group
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

// process is a running program.
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

// pipes receive the output of a program. They are not those of exec.Cmd, because the
// rest of the output is read after the remaining processes were killed.
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

// started begins to read: the program has its own ends of the pipes by now.
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

// abandon closes what is open; calling it twice is harmless.
func (p *pipes) abandon() {
	for _, f := range []*os.File{p.out.read, p.out.write, p.errs.read, p.errs.write} {
		_ = f.Close()
	}
}
