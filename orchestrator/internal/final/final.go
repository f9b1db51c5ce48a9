// Package final tells which errors of a store are final, and what becomes of a record
// that can never be stored: the call that it is of fails, or its run is stuck.
package final

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Is reports whether a store that returned err does so again when it is asked again.
func Is(err error) bool {
	return errors.Is(err, runlog.ErrConflict) || errors.Is(err, runlog.ErrDamaged) || runlog.IsNever(err)
}

// IsNever reports whether err says that a record can never be stored. nil does not.
func IsNever(err error) bool {
	return runlog.IsNever(err) || errors.Is(err, engine.ErrTooLarge) || errors.Is(err, engine.ErrUnstorable)
}

// Coded gives an error of a store that says "never" the code that flows and hosts know it
// by. Others, and nil, stay as they are.
func Coded(err error) error {
	code := engine.ErrTooLarge
	if !runlog.IsNever(err) {
		return err
	}
	if errors.Is(err, runlog.ErrRefused) {
		code = engine.ErrUnstorable
	}
	return agent.ErrorOf(fmt.Errorf("%w: it cannot be recorded: %w", code, err))
}

// Stuck is the error of a run that is stuck because a record of that kind can never be
// stored: err says so.
func Stuck(kind string, err error) error {
	failure := agent.ErrorOf(fmt.Errorf("record %q: %w", kind, Coded(err)))
	failure.Codes = append(failure.Codes, engine.ErrFlow)
	return failure
}

// Same reports whether err is the failure that was recorded with the message then. What a
// store says of a record may have its number, which differs.
func Same(then string, err *agent.Error) bool {
	return then == err.Message || IsNever(err) && number.ReplaceAllString(then, "") == number.ReplaceAllString(err.Message, "")
}

var number = regexp.MustCompile("[0-9]+")
