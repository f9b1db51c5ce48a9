package mcp

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/providers/internal/redact"
)

// A Dialer makes a new transport to a server for each connection: a [Command], an [HTTP],
// or a host's own, such as one with OAuth. ctx is only for the dialing.
type Dialer interface {
	Dial(ctx context.Context) (sdk.Transport, error)
}

// DialFunc makes a [Dialer] of a function.
type DialFunc func(ctx context.Context) (sdk.Transport, error)

// Dial calls f.
func (f DialFunc) Dial(ctx context.Context) (sdk.Transport, error) { return f(ctx) }

// Command is a server that is a program, with MCP on its standard input and output. It
// is started for each connection. Printing one shows only the program.
type Command struct {
	// Args are the program, as exec.Command finds it, and its arguments. Required.
	Args []string

	// Env is the program's whole environment, as "NAME=value". Nil: none, so that
	// it does not see the host's keys; many programs want at least PATH and HOME.
	Env []string

	// Dir is the program's working directory. "": that of the host.
	Dir string

	// Stderr is where the program's log goes. Nil: nowhere.
	Stderr io.Writer
}

// Dial returns the program, which is not started yet.
func (c Command) Dial(ctx context.Context) (sdk.Transport, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("Command.Args is empty")
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Args[0], c.Args[1:]...) //nolint:gosec // the host says what to start
	cmd.Env = append([]string{}, c.Env...)                                           // nil would be that of the host
	cmd.Dir, cmd.Stderr = c.Dir, c.Stderr
	return &sdk.CommandTransport{Command: cmd, TerminateDuration: grace}, nil
}

// String names the program.
func (c Command) String() string {
	if len(c.Args) == 0 {
		return "mcp.Command"
	}
	return "mcp.Command " + c.Args[0]
}

// GoString is String, for %#v.
func (c Command) GoString() string { return c.String() }

// secretName matches names of environment variables that may have a secret.
var secretName = regexp.MustCompile(`(?i)key|token|secret|password|auth`)

func (c Command) redactor() redact.Redactor {
	var secrets []string
	for _, e := range c.Env {
		if name, value, _ := strings.Cut(e, "="); secretName.MatchString(name) {
			secrets = append(secrets, value)
		}
	}
	return redact.New(secrets...)
}
