// Film has a studio of departments work on a request: with a real model, or
// with a rehearsal roster that needs none. It may be killed at any
// time: started again, it continues where it was.
//
//	go run ./examples/film "Create a dramatic opening scene with Aladdin stealing bread"
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// The exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := film(ctx, os.Args[1:], console{os.Stdin, os.Stdout, os.Stderr, os.Getenv, isTerminal(os.Stdout)})
	stop()
	os.Exit(code)
}

// console is what the program touches beside files and models.
type console struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	terminal bool // out is one
}

// isTerminal is good enough to choose between two ways to show progress.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// film does what args want and returns the exit code.
func film(ctx context.Context, args []string, c console) int {
	o, err := parse(args, c.in)
	if errors.Is(err, errHelp) {
		_, _ = io.WriteString(c.out, usage())
		return 0
	}
	if err == nil {
		err = perform(ctx, o, c)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(c.err, "film:", strings.Join(strings.Fields(plain(err.Error())), " "))
	switch {
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	default:
		return exitFailed
	}
}
