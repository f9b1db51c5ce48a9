//go:build !unix

package pgtest

import (
	"errors"
	"os/exec"
)

// user is the user of the server's processes.
type user struct{}

func serverUser() (user, error) {
	return user{}, errors.New("only on systems with Unix sockets")
}

func (user) own(string) error { return nil }

func (user) run(*exec.Cmd) {}
