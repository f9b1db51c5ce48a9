package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/convene-go/convene/internal/proc"
)

// Safe returns the repositories of other owners that the user trusts: safe.directory in the
// configuration of the user and of the system. "*" is all.
func Safe(ctx context.Context) []string { return ofUser(ctx, "safe.directory") }

// ofUser returns the values of a key in the configuration of the user and of the system, the
// last one decides. Nothing in it is executed. A configuration that cannot be read has none.
func ofUser(ctx context.Context, key string) (values []string) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	res, err := proc.Run(ctx, proc.Command{
		Path: path, Args: []string{"config", "--null", "--show-scope", "--type=path", "--get-all", key},
		Dir: os.TempDir(), Env: os.Environ(), Time: defaultTime,
	})
	if err != nil || res.Code != 0 {
		return nil
	}
	fields := strings.Split(res.Stdout.Head, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope := fields[i]; scope == "system" || scope == "global" || scope == "command" {
			values = append(values, fields[i+1])
		}
	}
	return values
}

// ignored is the file with what the user wants to be ignored in all repositories.
func ignored(ctx context.Context) string {
	if values := ofUser(ctx, "core.excludesFile"); len(values) > 0 {
		return values[len(values)-1]
	}
	base := os.Getenv("XDG_CONFIG_HOME") //nolint:forbidigo // git looks there
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return os.DevNull
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "git", "ignore")
}
