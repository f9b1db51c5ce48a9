package worktree

import "context"

// OpenStopping is Open of a process that ends after a command of git: after is called with
// the arguments of each, and its error ends the operation.
func OpenStopping(ctx context.Context, c Config, after func(args []string) error) (*Trees, error) {
	return open(ctx, c, after)
}

// Recent says whether git of that version can be used.
func Recent(version string) bool { return recent(version) }
