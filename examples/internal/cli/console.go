// Package cli is shared by the example programs: their command line, a model by its name,
// a database from which a killed run is resumed, progress on a terminal or in lines. A
// [Job] combines them; package rehearsal plays agents without a model.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"golang.org/x/term"
)

// Console is what a program uses beside files and models.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string

	// Size is the width and height in characters of the terminal Out. nil: Out is no
	// terminal.
	Size func() (width, height int)
}

// Program runs with args.
type Program func(ctx context.Context, args []string, c Console) error

// The exit codes.
const (
	Failed      = 1
	BadUsage    = 2
	Interrupted = 130
)

var (
	// ErrInterrupted says that Ctrl-C suspended the run.
	ErrInterrupted = errors.New("interrupted")

	errUsage = errors.New("bad usage")
)

// usageError is a fault of the command line.
type usageError struct {
	err     error
	program string
}

func (e *usageError) Error() string {
	return fmt.Sprintf("%v (%s -h lists the flags)", e.err, e.program)
}

// Unwrap is for errors.Is.
func (e *usageError) Unwrap() []error { return []error{e.err, errUsage} }

// Usage marks err as a fault of the command line of a program. nil stays nil, and a
// request for help stays one.
func Usage(program string, err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, errUsage) {
		return err
	}
	return &usageError{err, program}
}

// Main runs a program on the system's console and ends the process. Ctrl-C ends ctx; a
// second one ends the process at once.
func Main(name string, p Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := Run(ctx, name, p, os.Args[1:], Console{os.Stdin, os.Stdout, os.Stderr, os.Getenv, terminal(os.Stdout)})
	stop()
	os.Exit(code)
}

// terminal is the Size of a terminal, or nil for a file that is none.
func terminal(f *os.File) func() (width, height int) {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() (width, height int) {
		width, height, err := term.GetSize(fd)
		if err != nil || width == 0 || height == 0 {
			return 80, 24
		}
		return width, height
	}
}

// Run runs a program and returns the exit code. It prints an error in one line on c.Err.
func Run(ctx context.Context, name string, p Program, args []string, c Console) int {
	err := p(ctx, args, c)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(c.Err, "%s: %s\n", name, oneLine(Plain(err.Error())))
	switch {
	case errors.Is(err, errUsage):
		return BadUsage
	case errors.Is(err, ErrInterrupted):
		return Interrupted
	default:
		return Failed
	}
}

// Print writes to the console, without control sequences, because a text may come from a
// model. A closed console is no error.
func (c Console) Print(format string, args ...any) {
	_, _ = io.WriteString(c.Out, Plain(fmt.Sprintf(format, args...)))
}

// locked is a writer for several goroutines.
type locked struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// Plain is text without control characters but for line ends and tabs.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
