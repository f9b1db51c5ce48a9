package trees

import "context"

// Place is where a worker works.
type Place struct {
	Path   string `json:"path"`   // absolute path of the worktree
	Branch string `json:"branch"` // branch of the attempt
	Commit string `json:"commit"` // commit at which the slice begins: later changes are reset
}

type placeKey struct{}

// PlaceFrom returns where the worker works whose tool is called, and false if it has no
// worktree. No other worker has that folder.
func PlaceFrom(ctx context.Context) (Place, bool) {
	p, ok := ctx.Value(placeKey{}).(Place)
	return p, ok
}

// WithPlace returns ctx for the tools of a worker. director.Worker calls it; agents of the
// host and tests of tools can.
func WithPlace(ctx context.Context, p Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}
